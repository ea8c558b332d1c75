# The paragraph of a paper that describes a run, from the document of `httperf … --output run.json`:
#
#     jq -r -f paper.jq run.json
def round3: if . == null then "unknown" elif . >= 100 then round else (. * 100 | round) / 100 end;
def seconds: . / 1e9;
def ms: if . == null then "unknown" elif .ms == null then "unknown" else (if .or_more then "> " else "" end) + "\(.ms | round3) ms" end;
def interval($name):
  (.figures.confidence // [])[] | select(.figure == $name) |
  if .low == null then "no interval" else "95 % interval \(.low | round3) to \(.high | round3) ms" end;
def quoted: if test("[^A-Za-z0-9_@%+=:,./-]") then @sh else . end;
def arrivals:
  if .concurrent then "closed loop, \(.concurrent) connections"
  elif .exponential then "open loop, Poisson arrivals (mean interval \(.exponential.mean * 1000 | round3) ms)"
  elif .deterministic then "open loop, constant intervals of \(.deterministic.period * 1000 | round3) ms"
  else "arrivals \(tojson)" end;
.parts[0] as $part | .figures as $figures |
"Tool: httperf \($part.httperf), `\($part.command | map(quoted) | join(" "))`, started \($part.started).",
"Load: \(.plan.arrivals | arrivals); \(.plan.request.version), \(if .plan.tls then "TLS" else "no TLS" end); generator threads: \(.plan.threads // 1).",
"Phases: warm-up \(.plan.phases.warmup_ns | seconds) s, measured \($figures.duration_s | round3) s, drain up to \(.plan.phases.drain_ns | seconds) s; time limit \(if .plan.timeouts.timeout_ns then "\(.plan.timeouts.timeout_ns | seconds) s" else "none" end).",
"Clocks: latency counts from the instant at which a call was due; replies end when \(if .plan.recording.clock == "kernel" then "the kernel received them" else "the program read them" end).",
"Generator: \($part.machine.processor), \($part.machine.processors) processors, \($part.machine.memory / 1073741824 | round) GiB, \($part.machine.system); \(if $figures.lag_ms.p99 then "p99 of its own lag \($figures.lag_ms.p99 | round3) ms" else "no schedule, so no lag" end).",
"Verdict: \(.verdict.level)\(if .verdict.reasons == [] then "" else " (" + ([.verdict.reasons[].code] | join(", ")) + ")" end). Conclusion, of the server: \(.conclusion.text).",
"Offered \($figures.offered_rate // $figures.request_rate | round3)/s, answered \($figures.reply_rate | round3)/s; \($figures.all_calls.calls) calls, \($figures.error_share.share // 0 | . * 100 | round3) % in error.",
"Latency of all calls: p50 \($figures.all_calls.p50 | ms) (\(interval("p50"))), p99 \($figures.all_calls.p99 | ms) (\(interval("p99"))), maximum \($figures.all_calls.max | ms)."

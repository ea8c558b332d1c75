#compdef httperf

autoload -U is-at-least

_httperf() {
    typeset -A opt_args
    typeset -a _arguments_options
    local ret=1

    if is-at-least 5.2; then
        _arguments_options=(-s -S -C)
    else
        _arguments_options=(-s -C)
    fi

    local context curcontext="$curcontext" state line
    _arguments "${_arguments_options[@]}" : \
'--server=[connects to this host name or address]:HOST:_hosts' \
'--server-name=[sends this name in the Host line]:NAME:_hosts' \
'--servers=[connects to the servers named in a file, in turn]:FILE:_files' \
'--port=[connects to this port]:N:' \
'--uri=[asks for this URI]:S:' \
'--unix-socket=[connects to this unix-domain socket instead of a TCP port]:PATH:_files' \
'--connect-to=[connects to another address in place of a server'\''s]:HOST:PORT:ADDR:PORT:' \
'--proxy=[sends requests through this HTTP proxy]:URL:' \
'--rate=[starts X connections or sessions per second, whatever the server does]:X:' \
'--period=[spaces the starts by this distribution of intervals, in seconds]:[D]T1[,T2]:' \
'--runtime=[ends the run after X seconds, as an interrupt would]:X:' \
'--warmup=[offers load for X seconds before it is measured]:X:' \
'--drain=[lets what is under way end in the X seconds after --runtime]:X:' \
'--until=[ends the run as soon as a percentile of the latency is known to S percent]:pQ:S%:' \
'--client=[is the I-th (from 0) of N generators that work together]:I/N:' \
'--duration=[offers load for X seconds, as many connections and calls as that takes]:X:' \
'--concurrency=[keeps N connections busy, each sending its next call when the last reply is in]:N:' \
'--pipeline=[keeps up to N calls outstanding on each connection of a closed loop or a pool]:N:' \
'--call-pause=[thinks for X seconds between a reply and the next call of a connection]:X:' \
'--request-rate=[offers X calls per second over connections that are kept, whatever the server does]:X:' \
'--request-period=[spaces calls over kept connections by this distribution of intervals, in seconds]:[D]T1[,T2]:' \
'--max-open=[has no more than N connections open; arrivals beyond wait for one to end]:N:' \
'--threads=[shares the work among N threads, each tied to a processor]:N|auto:' \
'--num-conns=[makes N connections]:N:' \
'--num-calls=[makes N calls on each connection]:N:' \
'--burst-length=[sends calls in bursts of N, back to back]:N:' \
'--wlog=[takes URIs from a file, one after the other]:y|n,FILE:' \
'--wset=[walks over a set of N generated URIs, moving on with probability X]:N,X:' \
'--wsess=[runs N1 sessions of N2 calls each, with X seconds between bursts]:N1,N2,X:' \
'--wsesslog=[runs N sessions described in a file, with X seconds between bursts]:N,X,FILE:' \
'--wsesspage=[runs N1 sessions of N2 pages each with what is embedded in them, X seconds apart]:N1,N2,X:' \
'--failure-status=[lets a reply with status N fail its session]:N:' \
'--max-connections=[lets a session use at most N connections at once]:N:' \
'--max-piped-calls=[lets a session have at most N unanswered calls on each connection]:N:' \
'--method=[uses this request method]:S:' \
'--http-version=[speaks HTTP/1.0, HTTP/1.1 or HTTP/2]:A.B|2|auto:' \
'--add-header=[adds these header lines to each request]:S:' \
'--add-header-file=[adds the header lines in a file to each request]:FILE:_files' \
'--body=[sends this body with each request]:TEXT:' \
'--body-file=[sends what is in a file as the body of each request]:FILE:_files' \
'--form=[sends a field of a form with each request; may be given more than once]:NAME=VALUE:' \
'--header=[adds a header field to each request; may be given more than once]:NAME: VALUE:' \
'--basic-auth=[names the user with a password (Authorization\: Basic)]:USER:PASSWORD:' \
'--bearer=[names the user with a token (Authorization\: Bearer)]:TOKEN:' \
'--targets=[takes whole requests from a file, one after the other\: method, URL, header, body]:FILE:_files' \
'--expect-status=[counts replies of other statuses as unexpected]:LIST:' \
'--expect-size=[counts replies with bodies of other sizes as unexpected]:N[-M]:' \
'--expect-body-hash=[counts replies with bodies of another SHA-256 as unexpected]:sha256:HEX:' \
'--streams=[keeps up to N calls outstanding on each connection of a closed loop or a pool]:N:' \
'--h2-window=[lets the server send so many bytes of a reply before it hears that more are welcome]:BYTES:' \
'--h2-connection-window=[lets the server send so many bytes of all replies of a connection together]:BYTES:' \
'--h2-header-table=[lets the server remember so many bytes of header fields, to refer to them later (HPACK)]:BYTES:' \
'--h2-max-frame=[lets the server send frames of up to so many bytes]:BYTES:' \
'--ssl-ciphers=[offers these cipher suites of TLS 1.2 and older, a list in OpenSSL'\''s syntax]:L:' \
'--ssl-certificate=[shows this certificate to a server that asks for one]:FILE:_files' \
'--ssl-key=[uses this private key with --ssl-certificate]:FILE:_files' \
'--ssl-verify=[checks the server'\''s certificate]::yes|no:(yes no)' \
'--ssl-ca-file=[trusts the certificates in this file, in PEM, beside the system'\''s]:FILE:_files' \
'--ssl-ca-path=[trusts the certificates in the files of this directory, in PEM, beside the system'\''s]:DIR:' \
'--ssl-protocol=[speaks this version of TLS and no other]:S:' \
'--tls-server-name=[calls the server by this name in TLS]:NAME:_hosts' \
'--tls-groups=[offers these key-exchange groups, most preferred first; \`help\` lists them]:LIST:' \
'--tls-min=[offers no version of TLS older than this\: 1.0, 1.1, 1.2 or 1.3]:V:' \
'--tls-max=[offers no version of TLS newer than this\: 1.0, 1.1, 1.2 or 1.3]:V:' \
'--tls-sigalgs=[takes these algorithms for the server'\''s signature, most preferred first]:LIST:' \
'--tls-alpn=[offers these application protocols (ALPN), most preferred first]:LIST:' \
'--tls-keylog=[appends the secrets of TLS sessions to this file, for tools that decrypt captures]:FILE:_files' \
'--tls-resume=[makes this share of the connections resume an earlier TLS session]:PERCENT:' \
'--tls-cert-compression=[lets the server compress its certificate\: zlib, brotli, or both]:LIST:' \
'--timeout=[gives the server X seconds to connect, to take a request, and to reply]:X:' \
'--think-timeout=[gives the server X more seconds for its reply]:X:' \
'--send-buffer=[asks for send buffers of N bytes]:N:' \
'--recv-buffer=[asks for receive buffers of N bytes]:N:' \
'--myaddr=[binds connections to these local addresses, in turn]:S:' \
'--tcp-nodelay=[sends small segments at once (TCP_NODELAY)]:yes|no:(yes no)' \
'--tos=[marks packets with this type of service, or traffic class in IPv6]:N:' \
'--dscp=[marks packets with this differentiated-services code point]:NAME|N:' \
'--exemplars=[keeps the N slowest calls, with where their time went]:N:' \
'--split=[tells calls apart by request target, or by the status of the reply]:uri|status:(uri status)' \
'--clock=[ends replies when the program finds them, or when the kernel received them]:program|kernel:(program kernel)' \
'--kernel-sends=[reports every Nth call from the kernel'\''s sending the request to its receiving the reply]:N:' \
'--record=[records all there is to know of a run, or what the classic report shows]:classic|full:(classic full)' \
'--slo=[says what the server is to keep to, such as '\''p99<50ms, errors<0.1%'\'']:EXPR:' \
'--output=[writes the result as a JSON document, to be rendered, merged or run again]:FILE:_files' \
'--html=[writes the result as a page with charts, in one file that needs no network]:FILE:_files' \
'--csv=[appends a row of figures to a CSV file]:FILE:_files' \
'--hgrm=[writes the distribution of the latency, in ms, for HdrHistogram'\''s plotters]:FILE:_files' \
'--junit=[writes objectives and verdict as JUnit XML, for systems that show results of tests]:FILE:_files' \
'--calls=[writes a row of CSV for each call as it ends]:FILE.csv:' \
'--interval-log=[writes a line of JSON to a file for each second of the run]:FILE:_files' \
'--report=[prints the classic report or the full one]:auto|classic|full:(auto classic full)' \
'--print-reply=[prints replies as they arrive]::header|body:(header body)' \
'--print-request=[prints requests as they are sent]::header|body:(header body)' \
'-d+[does nothing but say what to use instead]:N:' \
'--debug=[does nothing but say what to use instead]:N:' \
'--all-addresses[connects to all addresses of a server'\''s name in turn, not only to the first]' \
'--proxy-tunnel[asks the proxy for tunnels (CONNECT) even without TLS]' \
'--spin[polls through the last stretch before a start instead of sleeping]' \
'--per-connection[gives each connection a schedule of its own, every N-th call of --request-rate]' \
'--session-cookies[keeps the cookies that a session is given and sends them back]' \
'--retry-on-failure[lets a session try a failed call again]' \
'--no-host-hdr[leaves out the Host line]' \
'--compressed[asks for compressed replies, and decompresses them to count and to check them]' \
'--h2c-upgrade[asks for HTTP/2 in the clear with the first request of each connection (Upgrade\: h2c)]' \
'--ssl[speaks TLS with the server]' \
'--ssl-no-reuse[makes a full handshake for every connection of a session]' \
'--tls-early-data[sends requests with the first flight of resumed handshakes (0-RTT)]' \
'--tls-handshake-only[connects, makes the handshake and closes, without a call]' \
'--close-with-reset[closes connections with a TCP reset]' \
'--hog[uses all local ports from 1024, not only those the kernel hands out]' \
'--system-buffers[leaves the sizes of socket buffers to the kernel]' \
'--tcp-fastopen[sends the first bytes with the SYN, to servers that allow it (TCP Fast Open)]' \
'--abort-on-slo[ends the run when it has missed an objective for three seconds in a row]' \
'--strict[exits with status 2 if the run is SUSPECT, and 3 if it is INVALID]' \
'--quiet[says nothing on standard error but errors]' \
'--live[shows the run on the whole screen while it goes on]' \
'--print-lifetimes[prints the lifetime of each connection]' \
'-n[prints the number of replies with status 200 and 302 each second]' \
'--periodic-stats[prints the number of replies with status 200 and 302 each second]' \
'-v[says more; may be repeated]' \
'--verbose[says more; may be repeated]' \
'-h[explains the options and exits]' \
'--help[explains the options and exits]' \
'-V[prints the version and exits]' \
'--version[prints the version and exits]' \
'--use-timer-cache[does nothing; accepted for old scripts]' \
'::URL -- the target, such as http\://host\:8080/path:_urls' \
":: :_httperf_commands" \
"*::: :->httperf" \
&& ret=0
    case $state in
    (httperf)
        words=($line[2] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:httperf-command-$line[2]:"
        case $line[2] in
            (sweep)
_arguments "${_arguments_options[@]}" : \
'--rates=[makes a run at each of these rates of connections, or of sessions, per second]:LIST:' \
'--request-rates=[makes a run at each of these rates of calls per second, over connections that are kept]:LIST:' \
'--repeats=[makes N runs at each rate]:N:' \
'--order=[makes the runs by rising rates, or in random order]:rising|random:(rising random)' \
'--seed=[starts the random numbers behind --order=random from N]:N:' \
'--stop-after=[leaves out the rates above N in a row that the server could not keep up with]:N:' \
'--pause=[waits for X seconds between two runs at least]:X:' \
'--settle=[then waits until server and local ports have recovered, for X seconds at most]:X:' \
'--output=[writes the sweep as a JSON document after each run]:FILE:_files' \
'--resume=[goes on with the sweep in a file that --output has written]:FILE:_files' \
'--csv=[writes a row of figures for each run to a CSV file]:FILE:_files' \
'--tsv=[writes the same with tabs between the values]:FILE:_files' \
'--html=[writes the sweep as a page with charts, in one file that needs no network]:FILE:_files' \
'--svg=[draws reply rate, errors and response time over the offered load, as SVG]:FILE:_files' \
'--png=[draws the same as PNG]:FILE:_files' \
'--junit=[writes the objectives and the verdict of each run as JUnit XML, for CI systems]:FILE:_files' \
'--format=[prints the sweep in this form when it is over]:table|tsv|csv|json:(table tsv csv json)' \
'--server=[connects to this host name or address]:HOST:_hosts' \
'--server-name=[sends this name in the Host line]:NAME:_hosts' \
'--servers=[connects to the servers named in a file, in turn]:FILE:_files' \
'--port=[connects to this port]:N:' \
'--uri=[asks for this URI]:S:' \
'--unix-socket=[connects to this unix-domain socket instead of a TCP port]:PATH:_files' \
'--connect-to=[connects to another address in place of a server'\''s]:HOST:PORT:ADDR:PORT:' \
'--proxy=[sends requests through this HTTP proxy]:URL:' \
'--rate=[starts X connections or sessions per second, whatever the server does]:X:' \
'--period=[spaces the starts by this distribution of intervals, in seconds]:[D]T1[,T2]:' \
'--runtime=[ends the run after X seconds, as an interrupt would]:X:' \
'--warmup=[offers load for X seconds before it is measured]:X:' \
'--drain=[lets what is under way end in the X seconds after --runtime]:X:' \
'--until=[ends the run as soon as a percentile of the latency is known to S percent]:pQ:S%:' \
'--client=[is the I-th (from 0) of N generators that work together]:I/N:' \
'--duration=[offers load for X seconds, as many connections and calls as that takes]:X:' \
'--concurrency=[keeps N connections busy, each sending its next call when the last reply is in]:N:' \
'--pipeline=[keeps up to N calls outstanding on each connection of a closed loop or a pool]:N:' \
'--call-pause=[thinks for X seconds between a reply and the next call of a connection]:X:' \
'--request-rate=[offers X calls per second over connections that are kept, whatever the server does]:X:' \
'--request-period=[spaces calls over kept connections by this distribution of intervals, in seconds]:[D]T1[,T2]:' \
'--max-open=[has no more than N connections open; arrivals beyond wait for one to end]:N:' \
'--threads=[shares the work among N threads, each tied to a processor]:N|auto:' \
'--num-conns=[makes N connections]:N:' \
'--num-calls=[makes N calls on each connection]:N:' \
'--burst-length=[sends calls in bursts of N, back to back]:N:' \
'--wlog=[takes URIs from a file, one after the other]:y|n,FILE:' \
'--wset=[walks over a set of N generated URIs, moving on with probability X]:N,X:' \
'--wsess=[runs N1 sessions of N2 calls each, with X seconds between bursts]:N1,N2,X:' \
'--wsesslog=[runs N sessions described in a file, with X seconds between bursts]:N,X,FILE:' \
'--wsesspage=[runs N1 sessions of N2 pages each with what is embedded in them, X seconds apart]:N1,N2,X:' \
'--failure-status=[lets a reply with status N fail its session]:N:' \
'--max-connections=[lets a session use at most N connections at once]:N:' \
'--max-piped-calls=[lets a session have at most N unanswered calls on each connection]:N:' \
'--method=[uses this request method]:S:' \
'--http-version=[speaks HTTP/1.0, HTTP/1.1 or HTTP/2]:A.B|2|auto:' \
'--add-header=[adds these header lines to each request]:S:' \
'--add-header-file=[adds the header lines in a file to each request]:FILE:_files' \
'--body=[sends this body with each request]:TEXT:' \
'--body-file=[sends what is in a file as the body of each request]:FILE:_files' \
'--form=[sends a field of a form with each request; may be given more than once]:NAME=VALUE:' \
'--header=[adds a header field to each request; may be given more than once]:NAME: VALUE:' \
'--basic-auth=[names the user with a password (Authorization\: Basic)]:USER:PASSWORD:' \
'--bearer=[names the user with a token (Authorization\: Bearer)]:TOKEN:' \
'--targets=[takes whole requests from a file, one after the other\: method, URL, header, body]:FILE:_files' \
'--expect-status=[counts replies of other statuses as unexpected]:LIST:' \
'--expect-size=[counts replies with bodies of other sizes as unexpected]:N[-M]:' \
'--expect-body-hash=[counts replies with bodies of another SHA-256 as unexpected]:sha256:HEX:' \
'--streams=[keeps up to N calls outstanding on each connection of a closed loop or a pool]:N:' \
'--h2-window=[lets the server send so many bytes of a reply before it hears that more are welcome]:BYTES:' \
'--h2-connection-window=[lets the server send so many bytes of all replies of a connection together]:BYTES:' \
'--h2-header-table=[lets the server remember so many bytes of header fields, to refer to them later (HPACK)]:BYTES:' \
'--h2-max-frame=[lets the server send frames of up to so many bytes]:BYTES:' \
'--ssl-ciphers=[offers these cipher suites of TLS 1.2 and older, a list in OpenSSL'\''s syntax]:L:' \
'--ssl-certificate=[shows this certificate to a server that asks for one]:FILE:_files' \
'--ssl-key=[uses this private key with --ssl-certificate]:FILE:_files' \
'--ssl-verify=[checks the server'\''s certificate]::yes|no:(yes no)' \
'--ssl-ca-file=[trusts the certificates in this file, in PEM, beside the system'\''s]:FILE:_files' \
'--ssl-ca-path=[trusts the certificates in the files of this directory, in PEM, beside the system'\''s]:DIR:' \
'--ssl-protocol=[speaks this version of TLS and no other]:S:' \
'--tls-server-name=[calls the server by this name in TLS]:NAME:_hosts' \
'--tls-groups=[offers these key-exchange groups, most preferred first; \`help\` lists them]:LIST:' \
'--tls-min=[offers no version of TLS older than this\: 1.0, 1.1, 1.2 or 1.3]:V:' \
'--tls-max=[offers no version of TLS newer than this\: 1.0, 1.1, 1.2 or 1.3]:V:' \
'--tls-sigalgs=[takes these algorithms for the server'\''s signature, most preferred first]:LIST:' \
'--tls-alpn=[offers these application protocols (ALPN), most preferred first]:LIST:' \
'--tls-keylog=[appends the secrets of TLS sessions to this file, for tools that decrypt captures]:FILE:_files' \
'--tls-resume=[makes this share of the connections resume an earlier TLS session]:PERCENT:' \
'--tls-cert-compression=[lets the server compress its certificate\: zlib, brotli, or both]:LIST:' \
'--timeout=[gives the server X seconds to connect, to take a request, and to reply]:X:' \
'--think-timeout=[gives the server X more seconds for its reply]:X:' \
'--send-buffer=[asks for send buffers of N bytes]:N:' \
'--recv-buffer=[asks for receive buffers of N bytes]:N:' \
'--myaddr=[binds connections to these local addresses, in turn]:S:' \
'--tcp-nodelay=[sends small segments at once (TCP_NODELAY)]:yes|no:(yes no)' \
'--tos=[marks packets with this type of service, or traffic class in IPv6]:N:' \
'--dscp=[marks packets with this differentiated-services code point]:NAME|N:' \
'--exemplars=[keeps the N slowest calls, with where their time went]:N:' \
'--split=[tells calls apart by request target, or by the status of the reply]:uri|status:(uri status)' \
'--clock=[ends replies when the program finds them, or when the kernel received them]:program|kernel:(program kernel)' \
'--kernel-sends=[reports every Nth call from the kernel'\''s sending the request to its receiving the reply]:N:' \
'--record=[records all there is to know of a run, or what the classic report shows]:classic|full:(classic full)' \
'--slo=[says what the server is to keep to, such as '\''p99<50ms, errors<0.1%'\'']:EXPR:' \
'--strict[exits with status 2 if a run is SUSPECT, and 3 if one is INVALID]' \
'--quiet[says nothing on standard error but errors]' \
'-h[explains the options and exits]' \
'--help[explains the options and exits]' \
'--all-addresses[connects to all addresses of a server'\''s name in turn, not only to the first]' \
'--proxy-tunnel[asks the proxy for tunnels (CONNECT) even without TLS]' \
'--spin[polls through the last stretch before a start instead of sleeping]' \
'--per-connection[gives each connection a schedule of its own, every N-th call of --request-rate]' \
'--session-cookies[keeps the cookies that a session is given and sends them back]' \
'--retry-on-failure[lets a session try a failed call again]' \
'--no-host-hdr[leaves out the Host line]' \
'--compressed[asks for compressed replies, and decompresses them to count and to check them]' \
'--h2c-upgrade[asks for HTTP/2 in the clear with the first request of each connection (Upgrade\: h2c)]' \
'--ssl[speaks TLS with the server]' \
'--ssl-no-reuse[makes a full handshake for every connection of a session]' \
'--tls-early-data[sends requests with the first flight of resumed handshakes (0-RTT)]' \
'--tls-handshake-only[connects, makes the handshake and closes, without a call]' \
'--close-with-reset[closes connections with a TCP reset]' \
'--hog[uses all local ports from 1024, not only those the kernel hands out]' \
'--system-buffers[leaves the sizes of socket buffers to the kernel]' \
'--tcp-fastopen[sends the first bytes with the SYN, to servers that allow it (TCP Fast Open)]' \
'--abort-on-slo[ends the run when it has missed an objective for three seconds in a row]' \
'*::URL -- the target, such as http\://host\:8080/path:_urls' \
&& ret=0
;;
(capacity)
_arguments "${_arguments_options[@]}" : \
'--slo=[is what the server is to keep to, such as '\''p99<50ms, errors<0.1%'\''; required]:OBJECTIVES:' \
'--search=[looks for a rate of connections or sessions, or of calls over kept connections]:rate|request-rate:' \
'--start=[makes the first trial at this rate per second]:RATE:' \
'--min-rate=[tries no lower rate; if that is too high, the exit status is 4]:RATE:' \
'--max-rate=[tries no higher rate, and ends if that is sustained]:RATE:' \
'--precision=[ends when the 95 % interval reaches no further than P % to either side]:P%:' \
'--trials=[makes N trials at most]:N:' \
'--trial-min=[measures the first trials for X seconds, or longer if they need it]:X:' \
'--trial-max=[measures no trial for longer than X seconds]:X:' \
'--pause=[waits X seconds between two trials]:X:' \
'--output=[writes that document to a file, anew after each trial]:FILE:_files' \
'--server=[connects to this host name or address]:HOST:_hosts' \
'--server-name=[sends this name in the Host line]:NAME:_hosts' \
'--servers=[connects to the servers named in a file, in turn]:FILE:_files' \
'--port=[connects to this port]:N:' \
'--uri=[asks for this URI]:S:' \
'--unix-socket=[connects to this unix-domain socket instead of a TCP port]:PATH:_files' \
'--connect-to=[connects to another address in place of a server'\''s]:HOST:PORT:ADDR:PORT:' \
'--proxy=[sends requests through this HTTP proxy]:URL:' \
'--rate=[starts X connections or sessions per second, whatever the server does]:X:' \
'--period=[spaces the starts by this distribution of intervals, in seconds]:[D]T1[,T2]:' \
'--runtime=[ends the run after X seconds, as an interrupt would]:X:' \
'--warmup=[offers load for X seconds before it is measured]:X:' \
'--drain=[lets what is under way end in the X seconds after --runtime]:X:' \
'--until=[ends the run as soon as a percentile of the latency is known to S percent]:pQ:S%:' \
'--client=[is the I-th (from 0) of N generators that work together]:I/N:' \
'--duration=[offers load for X seconds, as many connections and calls as that takes]:X:' \
'--concurrency=[keeps N connections busy, each sending its next call when the last reply is in]:N:' \
'--pipeline=[keeps up to N calls outstanding on each connection of a closed loop or a pool]:N:' \
'--call-pause=[thinks for X seconds between a reply and the next call of a connection]:X:' \
'--request-rate=[offers X calls per second over connections that are kept, whatever the server does]:X:' \
'--request-period=[spaces calls over kept connections by this distribution of intervals, in seconds]:[D]T1[,T2]:' \
'--max-open=[has no more than N connections open; arrivals beyond wait for one to end]:N:' \
'--threads=[shares the work among N threads, each tied to a processor]:N|auto:' \
'--num-conns=[makes N connections]:N:' \
'--num-calls=[makes N calls on each connection]:N:' \
'--burst-length=[sends calls in bursts of N, back to back]:N:' \
'--wlog=[takes URIs from a file, one after the other]:y|n,FILE:' \
'--wset=[walks over a set of N generated URIs, moving on with probability X]:N,X:' \
'--wsess=[runs N1 sessions of N2 calls each, with X seconds between bursts]:N1,N2,X:' \
'--wsesslog=[runs N sessions described in a file, with X seconds between bursts]:N,X,FILE:' \
'--wsesspage=[runs N1 sessions of N2 pages each with what is embedded in them, X seconds apart]:N1,N2,X:' \
'--failure-status=[lets a reply with status N fail its session]:N:' \
'--max-connections=[lets a session use at most N connections at once]:N:' \
'--max-piped-calls=[lets a session have at most N unanswered calls on each connection]:N:' \
'--method=[uses this request method]:S:' \
'--http-version=[speaks HTTP/1.0, HTTP/1.1 or HTTP/2]:A.B|2|auto:' \
'--add-header=[adds these header lines to each request]:S:' \
'--add-header-file=[adds the header lines in a file to each request]:FILE:_files' \
'--body=[sends this body with each request]:TEXT:' \
'--body-file=[sends what is in a file as the body of each request]:FILE:_files' \
'--form=[sends a field of a form with each request; may be given more than once]:NAME=VALUE:' \
'--header=[adds a header field to each request; may be given more than once]:NAME: VALUE:' \
'--basic-auth=[names the user with a password (Authorization\: Basic)]:USER:PASSWORD:' \
'--bearer=[names the user with a token (Authorization\: Bearer)]:TOKEN:' \
'--targets=[takes whole requests from a file, one after the other\: method, URL, header, body]:FILE:_files' \
'--expect-status=[counts replies of other statuses as unexpected]:LIST:' \
'--expect-size=[counts replies with bodies of other sizes as unexpected]:N[-M]:' \
'--expect-body-hash=[counts replies with bodies of another SHA-256 as unexpected]:sha256:HEX:' \
'--streams=[keeps up to N calls outstanding on each connection of a closed loop or a pool]:N:' \
'--h2-window=[lets the server send so many bytes of a reply before it hears that more are welcome]:BYTES:' \
'--h2-connection-window=[lets the server send so many bytes of all replies of a connection together]:BYTES:' \
'--h2-header-table=[lets the server remember so many bytes of header fields, to refer to them later (HPACK)]:BYTES:' \
'--h2-max-frame=[lets the server send frames of up to so many bytes]:BYTES:' \
'--ssl-ciphers=[offers these cipher suites of TLS 1.2 and older, a list in OpenSSL'\''s syntax]:L:' \
'--ssl-certificate=[shows this certificate to a server that asks for one]:FILE:_files' \
'--ssl-key=[uses this private key with --ssl-certificate]:FILE:_files' \
'--ssl-verify=[checks the server'\''s certificate]::yes|no:(yes no)' \
'--ssl-ca-file=[trusts the certificates in this file, in PEM, beside the system'\''s]:FILE:_files' \
'--ssl-ca-path=[trusts the certificates in the files of this directory, in PEM, beside the system'\''s]:DIR:' \
'--ssl-protocol=[speaks this version of TLS and no other]:S:' \
'--tls-server-name=[calls the server by this name in TLS]:NAME:_hosts' \
'--tls-groups=[offers these key-exchange groups, most preferred first; \`help\` lists them]:LIST:' \
'--tls-min=[offers no version of TLS older than this\: 1.0, 1.1, 1.2 or 1.3]:V:' \
'--tls-max=[offers no version of TLS newer than this\: 1.0, 1.1, 1.2 or 1.3]:V:' \
'--tls-sigalgs=[takes these algorithms for the server'\''s signature, most preferred first]:LIST:' \
'--tls-alpn=[offers these application protocols (ALPN), most preferred first]:LIST:' \
'--tls-keylog=[appends the secrets of TLS sessions to this file, for tools that decrypt captures]:FILE:_files' \
'--tls-resume=[makes this share of the connections resume an earlier TLS session]:PERCENT:' \
'--tls-cert-compression=[lets the server compress its certificate\: zlib, brotli, or both]:LIST:' \
'--timeout=[gives the server X seconds to connect, to take a request, and to reply]:X:' \
'--think-timeout=[gives the server X more seconds for its reply]:X:' \
'--send-buffer=[asks for send buffers of N bytes]:N:' \
'--recv-buffer=[asks for receive buffers of N bytes]:N:' \
'--myaddr=[binds connections to these local addresses, in turn]:S:' \
'--tcp-nodelay=[sends small segments at once (TCP_NODELAY)]:yes|no:(yes no)' \
'--tos=[marks packets with this type of service, or traffic class in IPv6]:N:' \
'--dscp=[marks packets with this differentiated-services code point]:NAME|N:' \
'--exemplars=[keeps the N slowest calls, with where their time went]:N:' \
'--split=[tells calls apart by request target, or by the status of the reply]:uri|status:(uri status)' \
'--clock=[ends replies when the program finds them, or when the kernel received them]:program|kernel:(program kernel)' \
'--kernel-sends=[reports every Nth call from the kernel'\''s sending the request to its receiving the reply]:N:' \
'--record=[records all there is to know of a run, or what the classic report shows]:classic|full:(classic full)' \
'--json[prints the figure with all trials as a JSON document]' \
'-h[explains the options and exits]' \
'--help[explains the options and exits]' \
'--quiet[says nothing on stderr but errors]' \
'--all-addresses[connects to all addresses of a server'\''s name in turn, not only to the first]' \
'--proxy-tunnel[asks the proxy for tunnels (CONNECT) even without TLS]' \
'--spin[polls through the last stretch before a start instead of sleeping]' \
'--per-connection[gives each connection a schedule of its own, every N-th call of --request-rate]' \
'--session-cookies[keeps the cookies that a session is given and sends them back]' \
'--retry-on-failure[lets a session try a failed call again]' \
'--no-host-hdr[leaves out the Host line]' \
'--compressed[asks for compressed replies, and decompresses them to count and to check them]' \
'--h2c-upgrade[asks for HTTP/2 in the clear with the first request of each connection (Upgrade\: h2c)]' \
'--ssl[speaks TLS with the server]' \
'--ssl-no-reuse[makes a full handshake for every connection of a session]' \
'--tls-early-data[sends requests with the first flight of resumed handshakes (0-RTT)]' \
'--tls-handshake-only[connects, makes the handshake and closes, without a call]' \
'--close-with-reset[closes connections with a TCP reset]' \
'--hog[uses all local ports from 1024, not only those the kernel hands out]' \
'--system-buffers[leaves the sizes of socket buffers to the kernel]' \
'--tcp-fastopen[sends the first bytes with the SYN, to servers that allow it (TCP Fast Open)]' \
'--abort-on-slo[ends the run when it has missed an objective for three seconds in a row]' \
'*::URL -- the target, such as http\://host\:8080/path:_urls' \
&& ret=0
;;
(compare)
_arguments "${_arguments_options[@]}" : \
'--format=[prints the comparison in this form]:text|markdown|json|html|junit:(text markdown json html junit)' \
'--fail-if=[exits with status 1 if a figure changed by more than this, such as p99>+5%]:CHANGE:' \
'--force[compares even what is not comparable]' \
'-h[explains the options and exits]' \
'--help[explains the options and exits]' \
'*::URL -- the target, such as http\://host\:8080/path:_urls' \
&& ret=0
;;
(ab)
_arguments "${_arguments_options[@]}" : \
'--a=[options of a run for side A alone, as a shell would split them]:OPTIONS:' \
'--b=[options of a run for side B alone]:OPTIONS:' \
'--rounds=[makes N rounds, each with one trial of both sides in random order]:N:' \
'--trial=[measures X seconds in each trial]:X:' \
'--warmup=[offers load for X seconds before each trial measures]:X:' \
'--drain=[lets what is under way at the end of a trial end for up to X seconds]:X:' \
'--pause=[waits X seconds before each trial but the first]:X:' \
'--seed=[starts the random order of the trials from N]:N:' \
'--format=[prints the comparison in this form]:text|markdown|json|html|junit:(text markdown json html junit)' \
'--output=[writes the comparison as a JSON document to a file as well]:FILE:_files' \
'--fail-if=[exits with status 1 if a figure changed by more than this, such as p99>+5%]:CHANGE:' \
'--server=[connects to this host name or address]:HOST:_hosts' \
'--server-name=[sends this name in the Host line]:NAME:_hosts' \
'--servers=[connects to the servers named in a file, in turn]:FILE:_files' \
'--port=[connects to this port]:N:' \
'--uri=[asks for this URI]:S:' \
'--unix-socket=[connects to this unix-domain socket instead of a TCP port]:PATH:_files' \
'--connect-to=[connects to another address in place of a server'\''s]:HOST:PORT:ADDR:PORT:' \
'--proxy=[sends requests through this HTTP proxy]:URL:' \
'--rate=[starts X connections or sessions per second, whatever the server does]:X:' \
'--period=[spaces the starts by this distribution of intervals, in seconds]:[D]T1[,T2]:' \
'--runtime=[ends the run after X seconds, as an interrupt would]:X:' \
'--until=[ends the run as soon as a percentile of the latency is known to S percent]:pQ:S%:' \
'--client=[is the I-th (from 0) of N generators that work together]:I/N:' \
'--duration=[offers load for X seconds, as many connections and calls as that takes]:X:' \
'--concurrency=[keeps N connections busy, each sending its next call when the last reply is in]:N:' \
'--pipeline=[keeps up to N calls outstanding on each connection of a closed loop or a pool]:N:' \
'--call-pause=[thinks for X seconds between a reply and the next call of a connection]:X:' \
'--request-rate=[offers X calls per second over connections that are kept, whatever the server does]:X:' \
'--request-period=[spaces calls over kept connections by this distribution of intervals, in seconds]:[D]T1[,T2]:' \
'--max-open=[has no more than N connections open; arrivals beyond wait for one to end]:N:' \
'--threads=[shares the work among N threads, each tied to a processor]:N|auto:' \
'--num-conns=[makes N connections]:N:' \
'--num-calls=[makes N calls on each connection]:N:' \
'--burst-length=[sends calls in bursts of N, back to back]:N:' \
'--wlog=[takes URIs from a file, one after the other]:y|n,FILE:' \
'--wset=[walks over a set of N generated URIs, moving on with probability X]:N,X:' \
'--wsess=[runs N1 sessions of N2 calls each, with X seconds between bursts]:N1,N2,X:' \
'--wsesslog=[runs N sessions described in a file, with X seconds between bursts]:N,X,FILE:' \
'--wsesspage=[runs N1 sessions of N2 pages each with what is embedded in them, X seconds apart]:N1,N2,X:' \
'--failure-status=[lets a reply with status N fail its session]:N:' \
'--max-connections=[lets a session use at most N connections at once]:N:' \
'--max-piped-calls=[lets a session have at most N unanswered calls on each connection]:N:' \
'--method=[uses this request method]:S:' \
'--http-version=[speaks HTTP/1.0, HTTP/1.1 or HTTP/2]:A.B|2|auto:' \
'--add-header=[adds these header lines to each request]:S:' \
'--add-header-file=[adds the header lines in a file to each request]:FILE:_files' \
'--body=[sends this body with each request]:TEXT:' \
'--body-file=[sends what is in a file as the body of each request]:FILE:_files' \
'--form=[sends a field of a form with each request; may be given more than once]:NAME=VALUE:' \
'--header=[adds a header field to each request; may be given more than once]:NAME: VALUE:' \
'--basic-auth=[names the user with a password (Authorization\: Basic)]:USER:PASSWORD:' \
'--bearer=[names the user with a token (Authorization\: Bearer)]:TOKEN:' \
'--targets=[takes whole requests from a file, one after the other\: method, URL, header, body]:FILE:_files' \
'--expect-status=[counts replies of other statuses as unexpected]:LIST:' \
'--expect-size=[counts replies with bodies of other sizes as unexpected]:N[-M]:' \
'--expect-body-hash=[counts replies with bodies of another SHA-256 as unexpected]:sha256:HEX:' \
'--streams=[keeps up to N calls outstanding on each connection of a closed loop or a pool]:N:' \
'--h2-window=[lets the server send so many bytes of a reply before it hears that more are welcome]:BYTES:' \
'--h2-connection-window=[lets the server send so many bytes of all replies of a connection together]:BYTES:' \
'--h2-header-table=[lets the server remember so many bytes of header fields, to refer to them later (HPACK)]:BYTES:' \
'--h2-max-frame=[lets the server send frames of up to so many bytes]:BYTES:' \
'--ssl-ciphers=[offers these cipher suites of TLS 1.2 and older, a list in OpenSSL'\''s syntax]:L:' \
'--ssl-certificate=[shows this certificate to a server that asks for one]:FILE:_files' \
'--ssl-key=[uses this private key with --ssl-certificate]:FILE:_files' \
'--ssl-verify=[checks the server'\''s certificate]::yes|no:(yes no)' \
'--ssl-ca-file=[trusts the certificates in this file, in PEM, beside the system'\''s]:FILE:_files' \
'--ssl-ca-path=[trusts the certificates in the files of this directory, in PEM, beside the system'\''s]:DIR:' \
'--ssl-protocol=[speaks this version of TLS and no other]:S:' \
'--tls-server-name=[calls the server by this name in TLS]:NAME:_hosts' \
'--tls-groups=[offers these key-exchange groups, most preferred first; \`help\` lists them]:LIST:' \
'--tls-min=[offers no version of TLS older than this\: 1.0, 1.1, 1.2 or 1.3]:V:' \
'--tls-max=[offers no version of TLS newer than this\: 1.0, 1.1, 1.2 or 1.3]:V:' \
'--tls-sigalgs=[takes these algorithms for the server'\''s signature, most preferred first]:LIST:' \
'--tls-alpn=[offers these application protocols (ALPN), most preferred first]:LIST:' \
'--tls-keylog=[appends the secrets of TLS sessions to this file, for tools that decrypt captures]:FILE:_files' \
'--tls-resume=[makes this share of the connections resume an earlier TLS session]:PERCENT:' \
'--tls-cert-compression=[lets the server compress its certificate\: zlib, brotli, or both]:LIST:' \
'--timeout=[gives the server X seconds to connect, to take a request, and to reply]:X:' \
'--think-timeout=[gives the server X more seconds for its reply]:X:' \
'--send-buffer=[asks for send buffers of N bytes]:N:' \
'--recv-buffer=[asks for receive buffers of N bytes]:N:' \
'--myaddr=[binds connections to these local addresses, in turn]:S:' \
'--tcp-nodelay=[sends small segments at once (TCP_NODELAY)]:yes|no:(yes no)' \
'--tos=[marks packets with this type of service, or traffic class in IPv6]:N:' \
'--dscp=[marks packets with this differentiated-services code point]:NAME|N:' \
'--exemplars=[keeps the N slowest calls, with where their time went]:N:' \
'--split=[tells calls apart by request target, or by the status of the reply]:uri|status:(uri status)' \
'--clock=[ends replies when the program finds them, or when the kernel received them]:program|kernel:(program kernel)' \
'--kernel-sends=[reports every Nth call from the kernel'\''s sending the request to its receiving the reply]:N:' \
'--record=[records all there is to know of a run, or what the classic report shows]:classic|full:(classic full)' \
'--slo=[says what the server is to keep to, such as '\''p99<50ms, errors<0.1%'\'']:EXPR:' \
'--force[tells what there is to tell even if most rounds are left out]' \
'-h[explains the options and exits]' \
'--help[explains the options and exits]' \
'--all-addresses[connects to all addresses of a server'\''s name in turn, not only to the first]' \
'--proxy-tunnel[asks the proxy for tunnels (CONNECT) even without TLS]' \
'--spin[polls through the last stretch before a start instead of sleeping]' \
'--per-connection[gives each connection a schedule of its own, every N-th call of --request-rate]' \
'--session-cookies[keeps the cookies that a session is given and sends them back]' \
'--retry-on-failure[lets a session try a failed call again]' \
'--no-host-hdr[leaves out the Host line]' \
'--compressed[asks for compressed replies, and decompresses them to count and to check them]' \
'--h2c-upgrade[asks for HTTP/2 in the clear with the first request of each connection (Upgrade\: h2c)]' \
'--ssl[speaks TLS with the server]' \
'--ssl-no-reuse[makes a full handshake for every connection of a session]' \
'--tls-early-data[sends requests with the first flight of resumed handshakes (0-RTT)]' \
'--tls-handshake-only[connects, makes the handshake and closes, without a call]' \
'--close-with-reset[closes connections with a TCP reset]' \
'--hog[uses all local ports from 1024, not only those the kernel hands out]' \
'--system-buffers[leaves the sizes of socket buffers to the kernel]' \
'--tcp-fastopen[sends the first bytes with the SYN, to servers that allow it (TCP Fast Open)]' \
'--abort-on-slo[ends the run when it has missed an objective for three seconds in a row]' \
'*::URL -- the target, such as http\://host\:8080/path:_urls' \
&& ret=0
;;
(serve)
_arguments "${_arguments_options[@]}" : \
'--size=[answers with a body of N bytes]:N:' \
'--status=[answers with this status, or with a mix such as 200\:95,503\:5]:LIST:' \
'--delay=[waits for T before each reply\: a duration or a distribution]:T:' \
'--capacity=[manages X replies per second; requests beyond that wait in order of arrival]:X:' \
'--queue=[lets N requests wait for --capacity and answers others 503 at once]:N:' \
'--listen=[listens on this address, or on unix\:PATH for a unix-domain socket]:ADDR:PORT:' \
'--close-after=[closes a connection with its Nth reply, which says so]:N:' \
'--close-silently=[closes a connection after its Nth reply without having said so]:N:' \
'--max-connections=[holds N connections at most and resets others as they come]:N:' \
'--idle-timeout=[closes a connection on which nothing moves for T]:T:' \
'--tls-key-type=[makes the certificate with a key of this type]:TYPE:' \
'--tls-cert=[shows the certificate in this file instead of making one]:FILE:_files' \
'--tls-cert-key=[uses the private key in this file with --tls-cert]:FILE:_files' \
'--tls-write-cert=[writes the certificate to this file, for clients to trust]:FILE:_files' \
'--tls-groups=[accepts these key-exchange groups and no others]:LIST:' \
'--tls-min=[accepts no version of TLS older than this\: 1.0, 1.1, 1.2 or 1.3]:V:' \
'--tls-max=[accepts no version of TLS newer than this\: 1.0, 1.1, 1.2 or 1.3]:V:' \
'--tls-ciphers=[accepts these cipher suites of TLS 1.2 and older, a list in OpenSSL'\''s syntax]:LIST:' \
'--tls-tickets=[says whether clients get tickets to resume their sessions with]:on|off:(on off)' \
'--tls-cert-compression=[compresses the certificate for clients that can take that\: zlib, brotli or both]:LIST:' \
'--h2-window=[lets clients send N bytes of a request'\''s body ahead on each stream]:N:' \
'--h2-connection-window=[lets clients send N bytes of bodies ahead on all streams of a connection together]:N:' \
'--h2-max-streams=[lets clients have N streams open at once on a connection]:N:' \
'--h2-max-frame=[lets clients send frames of up to N bytes]:N:' \
'--h2-header-table=[lets clients compress headers by a table of N bytes]:N:' \
'--fault=[lets replies go wrong by chance, as in reset\:0.01 or stall\:2%; may be repeated]:KIND:PROBABILITY:' \
'--trickle-interval=[waits for T between two bytes of a reply that trickles]:T:' \
'--seed=[starts the random numbers behind delays, statuses and faults from N]:N:' \
'--chunked[sends bodies in chunks instead of stating their size]' \
'--trailers[sends bodies in chunks, followed by a Server-Checksum trailer]' \
'--tls[speaks TLS on every connection, with a certificate made at start]' \
'--tls-early-data[accepts requests with the first flight of resumed handshakes (0-RTT)]' \
'--tls-request-client-cert[asks clients for a certificate, and goes on without one]' \
'--tls-require-client-cert[asks clients for a certificate, and fails the handshake without one]' \
'--no-http2[speaks HTTP/1 alone]' \
'-h[explains the options and exits]' \
'--help[explains the options and exits]' \
&& ret=0
;;
(tls-lab)
_arguments "${_arguments_options[@]}" : \
'--groups=[measures each of these key-exchange groups, alone, with TLS 1.2 or 1.3]:LIST:' \
'--ciphers=[measures each of these cipher suites as well, alone, with TLS 1.2]:LIST:' \
'--rounds=[makes N rounds, each with one trial of each variant, in an order that changes]:N:' \
'--handshakes=[makes N handshakes in each trial, one after the other]:N:' \
'--rate-handshakes=[makes N more handshakes in each trial, several at once, for the sustained rate]:N:' \
'--concurrency=[keeps N of the --rate-handshakes going at once]:N:' \
'--seed=[starts the random order of the trials from N]:N:' \
'--timeout=[gives a connect, and then its handshake, this long\: a duration such as 500ms]:T:' \
'--tls-server-name=[calls the server by this name in TLS]:NAME:_hosts' \
'--ssl-ca-file=[trusts the certificates in this file, in PEM, beside the system'\''s]:FILE:_files' \
'--resume[measures each variant with resumed sessions as well]' \
'--ssl-verify[checks the server'\''s certificate, which is part of what a handshake costs]' \
'--csv[prints CSV instead of the table\: a line for each variant]' \
'--json[prints JSON instead of the table, with the figures of each round]' \
'-h[explains the options and exits]' \
'--help[explains the options and exits]' \
'*::URL -- the target, such as http\://host\:8080/path:_urls' \
&& ret=0
;;
(doctor)
_arguments "${_arguments_options[@]}" : \
'--rate=[looks whether the machine can open this many connections per second]:X:' \
'--connections=[looks whether the machine can hold this many connections at once]:N:' \
'--myaddr=[takes connections to come from these local addresses, in turn]:S:' \
'--all-addresses[takes connections to go to all addresses of the server'\''s name, in turn]' \
'--hog[takes all local ports from 1024 to be used, not only those the kernel hands out]' \
'-h[explains the options and exits]' \
'--help[explains the options and exits]' \
'*::URL -- the target, such as http\://host\:8080/path:_urls' \
&& ret=0
;;
(self-check)
_arguments "${_arguments_options[@]}" : \
'--rate=[looks how exactly X arrivals per second keep their schedule; may be repeated]:X:' \
'--quick[takes some 20 seconds instead of a minute]' \
'--json[prints JSON instead of a table]' \
'--no-store[does not keep the results]' \
'-h[explains the options and exits]' \
'--help[explains the options and exits]' \
&& ret=0
;;
(report)
_arguments "${_arguments_options[@]}" : \
'--format=[renders the result in this form]:text|html|csv|hgrm|json:(text html csv hgrm json)' \
'-h[explains the options and exits]' \
'--help[explains the options and exits]' \
'*::URL -- the target, such as http\://host\:8080/path:_urls' \
&& ret=0
;;
(plot)
_arguments "${_arguments_options[@]}" : \
'--what=[draws this of the files]:percentiles|timeline|sweep|compare:(percentiles timeline sweep compare)' \
'--theme=[draws dark on white, or light on nearly black]:light|dark:(light dark)' \
'--width=[makes the picture so wide, from 300 to 4000]:PIXELS:' \
'--height=[makes the picture so high, from 300 to 4000]:PIXELS:' \
'--output=[writes the picture to a file instead of standard output]:FILE:_files' \
'--format=[writes the picture in this form]:svg|png:(svg png)' \
'-h[explains the options and exits]' \
'--help[explains the options and exits]' \
'*::URL -- the target, such as http\://host\:8080/path:_urls' \
&& ret=0
;;
(merge)
_arguments "${_arguments_options[@]}" : \
'--output=[writes the sum to a file instead of standard output]:FILE:_files' \
'-h[explains the options and exits]' \
'--help[explains the options and exits]' \
'*::URL -- the target, such as http\://host\:8080/path:_urls' \
&& ret=0
;;
(rerun)
_arguments "${_arguments_options[@]}" : \
'--output=[writes the result as a JSON document, to be rendered, merged or run again]:FILE:_files' \
'--html=[writes the result as a page with charts, in one file that needs no network]:FILE:_files' \
'--csv=[appends a row of figures to a CSV file]:FILE:_files' \
'--hgrm=[writes the distribution of the latency, in ms, for HdrHistogram'\''s plotters]:FILE:_files' \
'--junit=[writes objectives and verdict as JUnit XML, for systems that show results of tests]:FILE:_files' \
'--calls=[writes a row of CSV for each call as it ends]:FILE.csv:' \
'--interval-log=[writes a line of JSON to a file for each second of the run]:FILE:_files' \
'--report=[prints the classic report or the full one]:auto|classic|full:(auto classic full)' \
'--strict[exits with status 2 if the run is SUSPECT, and 3 if it is INVALID]' \
'--quiet[says nothing on standard error but errors]' \
'--live[shows the run on the whole screen while it goes on]' \
'-h[explains the options and exits]' \
'--help[explains the options and exits]' \
'*::URL -- the target, such as http\://host\:8080/path:_urls' \
&& ret=0
;;
        esac
    ;;
esac
}

(( $+functions[_httperf_commands] )) ||
_httperf_commands() {
    local commands; commands=(
'sweep:Makes a run at each of many rates, and finds the one at which the server falls behind.' \
'capacity:Finds the highest rate that a server sustains within objectives, by trials.' \
'compare:Compares results with a base\: what is better, what is worse, and what cannot be told.' \
'ab:Compares two targets, or two sets of options, in trials that take turns, so that drift cancels.' \
'serve:Serves HTTP for tests, as quick, slow or faulty as asked, and prints what it did when stopped.' \
'tls-lab:Compares what TLS handshakes cost with different key-exchange groups, ciphers and resumption.' \
'doctor:Looks for what on this machine would spoil a measurement, and names the command that mends it.' \
'self-check:Measures how exact this machine'\''s measurements are, and how much load it can offer.' \
'report:Renders results again that --output has written.' \
'plot:Draws results that --output has written, as SVG or PNG.' \
'merge:Adds up results of generators that worked together, exactly.' \
'rerun:Runs the plan of a result again\: the same requests at the same times.' \
    )
    _describe -t commands 'httperf commands' commands "$@"
}
(( $+functions[_httperf__subcmd__ab_commands] )) ||
_httperf__subcmd__ab_commands() {
    local commands; commands=()
    _describe -t commands 'httperf ab commands' commands "$@"
}
(( $+functions[_httperf__subcmd__capacity_commands] )) ||
_httperf__subcmd__capacity_commands() {
    local commands; commands=()
    _describe -t commands 'httperf capacity commands' commands "$@"
}
(( $+functions[_httperf__subcmd__compare_commands] )) ||
_httperf__subcmd__compare_commands() {
    local commands; commands=()
    _describe -t commands 'httperf compare commands' commands "$@"
}
(( $+functions[_httperf__subcmd__doctor_commands] )) ||
_httperf__subcmd__doctor_commands() {
    local commands; commands=()
    _describe -t commands 'httperf doctor commands' commands "$@"
}
(( $+functions[_httperf__subcmd__merge_commands] )) ||
_httperf__subcmd__merge_commands() {
    local commands; commands=()
    _describe -t commands 'httperf merge commands' commands "$@"
}
(( $+functions[_httperf__subcmd__plot_commands] )) ||
_httperf__subcmd__plot_commands() {
    local commands; commands=()
    _describe -t commands 'httperf plot commands' commands "$@"
}
(( $+functions[_httperf__subcmd__report_commands] )) ||
_httperf__subcmd__report_commands() {
    local commands; commands=()
    _describe -t commands 'httperf report commands' commands "$@"
}
(( $+functions[_httperf__subcmd__rerun_commands] )) ||
_httperf__subcmd__rerun_commands() {
    local commands; commands=()
    _describe -t commands 'httperf rerun commands' commands "$@"
}
(( $+functions[_httperf__subcmd__self-check_commands] )) ||
_httperf__subcmd__self-check_commands() {
    local commands; commands=()
    _describe -t commands 'httperf self-check commands' commands "$@"
}
(( $+functions[_httperf__subcmd__serve_commands] )) ||
_httperf__subcmd__serve_commands() {
    local commands; commands=()
    _describe -t commands 'httperf serve commands' commands "$@"
}
(( $+functions[_httperf__subcmd__sweep_commands] )) ||
_httperf__subcmd__sweep_commands() {
    local commands; commands=()
    _describe -t commands 'httperf sweep commands' commands "$@"
}
(( $+functions[_httperf__subcmd__tls-lab_commands] )) ||
_httperf__subcmd__tls-lab_commands() {
    local commands; commands=()
    _describe -t commands 'httperf tls-lab commands' commands "$@"
}

if [ "$funcstack[1]" = "_httperf" ]; then
    _httperf "$@"
else
    compdef _httperf httperf
fi

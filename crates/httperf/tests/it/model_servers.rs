//! Servers of language models that others have written: the mock server of guidellm, and that of llama.cpp with a tiny model.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use httperf_stats::ModelSummary;
use httperf_testkit::{python, skip};

use crate::support::machine::is_long;
use crate::support::ran::{self, Ran};
use crate::support::running::Running;

/// Asks prompts of a file, a line each.
fn ask(server: &Running, path: &str, arguments: &str, prompts: &str) -> (Ran, ModelSummary) {
    let arguments = format!("--uri {path} --llm openai --prompts prompts.jsonl {arguments}");
    let ran = ran::run(server.port(0), &arguments, &[("prompts.jsonl", prompts.as_bytes())]);
    let model = model_of(&ran).clone();
    (ran, model)
}

fn model_of(ran: &Ran) -> &ModelSummary {
    let model = ran.summary.streams.as_ref().and_then(|streams| streams.model.as_deref());
    model.unwrap_or_else(|| panic!("no model: {ran}"))
}

/// The paths of OpenAI's API.
const PATHS: [&str; 2] = ["/v1/chat/completions", "/v1/completions"];

/// The mock server: 40 ms to the first token, 5 ms to each further one, 30 tokens at most.
const GUIDELLM: &str = r#"
import sys
from guidellm.mock_server import MockServer
from guidellm.schemas.mock_server import MockServerConfig

MockServer(MockServerConfig(port=int(sys.argv[1]), ttft_ms=40, itl_ms=5, output_tokens=30)).run()
"#;

/// Packages that the mock server imports. guidellm asks for more, PyTorch among them.
const GUIDELLM_NEEDS: [&str; 5] = ["faker", "loguru", "pydantic-settings", "sanic", "transformers"];

#[test]
fn the_mock_server_of_guidellm_agrees() {
    if !is_long() {
        return skip::unless_long();
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(python) =
        python::with_bare_package(folder, "guidellm.mock_server", "guidellm==0.8.1", &GUIDELLM_NEEDS)
    else {
        return skip::without("guidellm from PyPI");
    };
    let server = Running::python(&python, GUIDELLM);
    let prompts = "{\"prompt\":\"one\",\"max_tokens\":8}\n{\"prompt\":\"two three\",\"max_tokens\":12}\n{\"prompt\":\"four\",\"max_tokens\":40}\n";
    for path in PATHS {
        let arguments = "--model mock --request-rate 30 --num-calls 30 --concurrency 20";
        let (ran, model) = ask(&server, path, arguments, prompts);
        let streams = ran.summary.streams.as_ref().unwrap();
        assert_eq!((streams.started, streams.completed, streams.cut), (30, 30, 0), "{ran}");
        assert_eq!((model.answers, model.whole, model.undone, model.malformed), (30, 0, 0, 0), "{ran}");
        // Ten times 8, 12 and 30. Beside the tokens, one event has the reason, one the usage, and one is `[DONE]`.
        assert_eq!((model.told, model.counted, model.output_tokens), (30, 0, 500), "{ran}");
        assert_eq!(streams.events, 500 + 3 * 30, "{ran}");
        assert_eq!(model.finish_reasons.by_frequency(), [("stop", 30)], "{ran}");
        let first = &model.first_token;
        assert_eq!((first.latency.moments.count(), model.per_token.moments.count()), (30, 30), "{ran}");
        assert!(first.service.moments.min() >= 0.04, "{ran}");
        // A first token that was read late leaves less time for the others.
        let (first, per_token) = (first.service.moments.max(), model.per_token.moments.max());
        assert!(first + 29.0 * per_token >= 0.04 + 29.0 * 0.005, "{ran}");

        let (ran, model) = ask(&server, path, "--model mock --num-conns 6 --whole-answers", prompts);
        assert_eq!((model.answers, model.whole, model.told, model.output_tokens), (6, 6, 6, 100), "{ran}");
        assert_eq!(ran.summary.streams.as_ref().unwrap().started, 0, "{ran}");

        // Without the usage, events are counted.
        let body = r#"{"model":"mock","stream":true,"max_tokens":8,"prompt":"one","messages":[{"role":"user","content":"one"}]}"#;
        let arguments = format!(
            "--uri {path} --llm openai --num-conns 3 --method POST --header Content-Type:application/json --body {body}"
        );
        let ran = ran::run(server.port(0), &arguments, &[]);
        let model = model_of(&ran);
        assert_eq!((model.answers, model.told, model.counted, model.output_tokens), (3, 0, 3, 24), "{ran}");

        // It wants a model's name, and says so in several lines.
        let (ran, model) = ask(&server, path, "--num-conns 3", prompts);
        assert_eq!((model.answers, model.errors.total()), (0, 3), "{ran}");
        let (message, _) = model.errors.by_frequency()[0];
        assert!(
            message.starts_with("Invalid request: 1 validation error") && message.contains('\n'),
            "{ran}"
        );
        assert!(ran.finished.stdout.contains("\\nmodel\\n"), "{ran}");
    }
}

/// A model of two blocks with random weights, in the format of llama.cpp: 253 words, and the 256 bytes.
const MODEL: &str = r#"
import sys
import gguf
import numpy

WIDTH, HEADS, INNER, BLOCKS = 64, 4, 128, 2
random = numpy.random.default_rng(1)

def weights(name, *shape):
    model.add_tensor(name + ".weight", random.standard_normal(shape, dtype=numpy.float32) * 0.1)

def ones(name):
    model.add_tensor(name + ".weight", numpy.ones(WIDTH, dtype=numpy.float32))

special = ["<unk>", "<s>", "</s>"]
octets = [f"<0x{octet:02X}>" for octet in range(256)]
words = [f"\u2581word{number}" for number in range(253)]
kinds = [gguf.TokenType.UNKNOWN] + [gguf.TokenType.CONTROL] * 2 + [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * 253
tokens = special + octets + words

model = gguf.GGUFWriter(sys.argv[1], "llama")
model.add_context_length(2048)
model.add_embedding_length(WIDTH)
model.add_block_count(BLOCKS)
model.add_feed_forward_length(INNER)
model.add_head_count(HEADS)
model.add_layer_norm_rms_eps(1e-5)
model.add_vocab_size(len(tokens))
model.add_tokenizer_model("llama")
model.add_token_list(tokens)
model.add_token_scores([0.0] * len(tokens))
model.add_token_types(kinds)
model.add_unk_token_id(0)
model.add_bos_token_id(1)
model.add_eos_token_id(2)
weights("token_embd", len(tokens), WIDTH)
weights("output", len(tokens), WIDTH)
ones("output_norm")
for number in range(BLOCKS):
    block = f"blk.{number}."
    ones(block + "attn_norm")
    ones(block + "ffn_norm")
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        weights(block + name, WIDTH, WIDTH)
    weights(block + "ffn_gate", INNER, WIDTH)
    weights(block + "ffn_up", INNER, WIDTH)
    weights(block + "ffn_down", WIDTH, INNER)
model.write_header_to_file()
model.write_kv_data_to_file()
model.write_tensors_to_file()
model.close()
"#;

/// The server of llama.cpp, which a package for Python has within it.
const LLAMA: &str = r#"
import sys, threading
import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.port = int(sys.argv[2])
params.n_ctx = 2048
params.n_parallel = 4
params.cpuparams.n_threads = 1
params.endpoint_metrics = True
server = xllamacpp.Server(params)
print("ready", flush=True)
threading.Event().wait()
"#;

#[test]
fn the_server_of_llama_cpp_agrees() {
    if !is_long() {
        return skip::unless_long();
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let packages = ["xllamacpp==2026.10.11549", "gguf==0.19.0"];
    let Some(python) = python::with_module(folder, "xllamacpp", &packages) else {
        return skip::without("xllamacpp from PyPI");
    };
    let furnish = |root: &Path| {
        fs::write(root.join("server.py"), LLAMA)?;
        let made = Command::new(&python).args(["-c", MODEL]).arg(root.join("model.gguf")).output()?;
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Ok(())
    };
    let server = Running::start("127.0.0.1", 1, furnish, |root, ports| {
        let mut command = Command::new(&python);
        command.arg(root.join("server.py")).arg(root.join("model.gguf")).arg(ports[0].to_string());
        command
    });
    // Connections are taken while the model is read.
    server.wait_for("ready");
    let mut tokens = 0;
    for path in PATHS {
        let ended = r#"{"prompt":"one","max_tokens":8,"ignore_eos":true,"seed":1}"#;
        let (ran, model) = ask(&server, path, "--num-conns 12 --rate 100", ended);
        assert_eq!((model.answers, model.whole, model.undone, model.malformed), (12, 0, 0, 0), "{ran}");
        assert_eq!((model.told, model.output_tokens), (12, 96), "{ran}");
        assert_eq!(model.finish_reasons.by_frequency(), [("length", 12)], "{ran}");
        assert_eq!((model.first_token.latency.moments.count(), model.errors.total()), (12, 0), "{ran}");
        assert!(model.prompt_tokens >= 12, "{ran}");

        let (ran, model) = ask(&server, path, "--num-conns 6 --whole-answers", ended);
        assert_eq!((model.answers, model.whole, model.told, model.output_tokens), (6, 6, 6, 48), "{ran}");
        assert_eq!(model.finish_reasons.by_frequency(), [("length", 6)], "{ran}");

        // Its first token is the one that ends a text: an answer without content.
        let empty = r#"{"prompt":"one","max_tokens":8,"logit_bias":[[2,100]]}"#;
        let (ran, model) = ask(&server, path, "--num-conns 5", empty);
        assert_eq!((model.answers, model.told, model.output_tokens, model.undone), (5, 5, 5, 0), "{ran}");
        assert_eq!(model.finish_reasons.by_frequency(), [("stop", 5)], "{ran}");
        assert!(model.first_token.latency.is_empty(), "{ran}");

        let (ran, model) = ask(&server, path, "--num-conns 3", r#"{"prompt":"one","temperature":"hot"}"#);
        assert_eq!((model.answers, model.errors.total()), (0, 3), "{ran}");
        assert!(model.errors.by_frequency()[0].0.contains("type must be number"), "{ran}");

        tokens += 96 + 48 + 5;
        let metrics = metrics(&server);
        let told = format!("\nllamacpp:tokens_predicted_total {tokens}\n");
        assert!(metrics.contains(&told), "{told} {metrics}");
    }
}

/// The server's own figures.
fn metrics(server: &Running) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port(0))).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

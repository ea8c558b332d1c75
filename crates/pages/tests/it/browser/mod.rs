//! A headless browser without a network, controlled over Chromium's debugging pipe.
//!
//! <https://chromedevtools.github.io/devtools-protocol/>: JSON with a zero byte after each message.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Names of the browser in various packages.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Time limit for each command.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time limit for an orderly exit, after which it is killed.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(5);

/// Chromium reads commands from descriptor 3 and answers on 4; only a shell can set this up without unsafe
/// code.
const START: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 >/dev/null 2>&1";

/// A running browser, which ends when it is dropped.
pub(crate) struct Browser {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    last_id: u64,
    /// Events received so far.
    events: Vec<Value>,
    _profile: TempDir,
}

/// Window and colour scheme, and whether pages may run scripts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) width: u32,
    pub(crate) scheme: &'static str,
    pub(crate) has_script: bool,
}

impl View {
    pub(crate) const fn new(width: u32, scheme: &'static str) -> Self {
        Self { width, scheme, has_script: true }
    }
}

/// A loaded page.
pub(crate) struct Page<'a> {
    browser: &'a mut Browser,
    target: String,
    session: String,
}

impl Browser {
    /// Starts the browser.
    pub(crate) fn start() -> Self {
        let profile = tempfile::tempdir().expect("a folder can be made");
        let mut child = Command::new("sh")
            .args(["-c", START])
            .arg(program())
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--remote-debugging-pipe",
            ])
            .args(["--proxy-server=127.0.0.1:9", "--host-resolver-rules=MAP * ~NOTFOUND"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .env("TMPDIR", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell can be started");
        let commands = child.stdin.take().expect("it is piped");
        let mut answers = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, messages) = mpsc::channel();
        // Ends with the browser, or when the receiver is dropped.
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|size| size > 0) {
                let value = serde_json::from_slice(message.strip_suffix(&[0]).unwrap_or(&message));
                message.clear();
                if value.map_or(true, |value| sender.send(value).is_err()) {
                    break;
                }
            }
        });
        Self { child, commands, messages, last_id: 0, events: Vec::new(), _profile: profile }
    }

    /// Loads a file.
    pub(crate) fn open(&mut self, file: &Path, view: View) -> Page<'_> {
        self.events.clear();
        let target = self.call(None, "Target.createTarget", &json!({ "url": "about:blank" }));
        let target = text(&target["targetId"]);
        let attach = json!({ "targetId": target, "flatten": true });
        let session = self.call(None, "Target.attachToTarget", &attach);
        let session = text(&session["sessionId"]);
        let mut page = Page { browser: self, target, session };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), &json!({}));
        }
        page.view(view);
        if !view.has_script {
            page.call("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
        }
        page.call("Page.navigate", &json!({ "url": format!("file://{}", file.display()) }));
        page.wait_for("Page.loadEventFired");
        page
    }

    fn call(&mut self, session: Option<&str>, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).expect("the browser takes commands");
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut message = self.next(deadline, method);
            if message["id"] == self.last_id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].take();
            }
            self.events.push(message);
        }
    }

    fn next(&mut self, deadline: Instant, awaited: &str) -> Value {
        let left = deadline.saturating_duration_since(Instant::now());
        self.messages
            .recv_timeout(left)
            .unwrap_or_else(|error| panic!("{awaited}: no answer from the browser: {error}"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Closing lets it tidy up. If it does not close, its child processes end when it is killed.
        self.commands.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0").ok();
        let deadline = Instant::now() + PATIENCE_AT_THE_END;
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Page<'_> {
    /// Changes the view.
    pub(crate) fn view(&mut self, view: View) {
        let View { width, scheme, .. } = view;
        let is_phone = width < 600;
        let metrics = json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": is_phone });
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        self.call("Emulation.setTouchEmulationEnabled", &json!({ "enabled": is_phone }));
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "media": "", "features": features }));
    }

    /// Shows the page as it would be printed.
    pub(crate) fn view_on_paper(&mut self) {
        self.call("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
    }

    /// Prints the page as PDF.
    pub(crate) fn pdf(&mut self) -> Vec<u8> {
        let printed = self.call("Page.printToPDF", &json!({}));
        STANDARD.decode(text(&printed["data"])).expect("it is base64")
    }

    /// Moves the mouse to a position of the window.
    pub(crate) fn point(&mut self, (x, y): (f64, f64)) {
        self.mouse("mouseMoved", (x, y));
    }

    /// Drags the mouse from one position to another.
    pub(crate) fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.mouse("mouseMoved", from);
        self.mouse("mousePressed", from);
        self.mouse("mouseDragged", (f64::midpoint(from.0, to.0), to.1));
        self.mouse("mouseDragged", to);
        self.mouse("mouseReleased", to);
    }

    /// Clicks twice.
    pub(crate) fn double_click(&mut self, (x, y): (f64, f64)) {
        for count in [1, 2] {
            for kind in ["mousePressed", "mouseReleased"] {
                let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": count });
                self.call("Input.dispatchMouseEvent", &event);
            }
        }
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64)) {
        // A drag is a move with the left button, the first bit, held down.
        let (kind, button, buttons) = match kind {
            "mouseMoved" => (kind, "none", 0),
            "mouseDragged" => ("mouseMoved", "left", 1),
            "mousePressed" => (kind, "left", 1),
            _ => (kind, "left", 0),
        };
        let event =
            json!({ "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", &event);
    }

    /// Presses a key, such as `ArrowRight`.
    pub(crate) fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", &json!({ "type": kind, "key": key, "code": key }));
        }
    }

    /// Evaluates an expression, awaiting promises.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut result = self.call("Runtime.evaluate", &params);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].take()
    }

    /// Errors logged, other resources loaded, and dialogues opened so far.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        let complaint = |event: &Value| {
            let params = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" | "Page.javascriptDialogOpening" => Some(event.to_string()),
                "Runtime.consoleAPICalled" => Some(params["args"].to_string()),
                "Log.entryAdded" => Some(params["entry"]["text"].to_string()),
                "Network.requestWillBeSent" => {
                    let url = params["request"]["url"].as_str()?;
                    let is_own =
                        url.starts_with("file:") || url.starts_with("data:") || url.starts_with("blob:");
                    (!is_own).then(|| url.to_owned())
                }
                _ => None,
            }
        };
        self.browser.events.iter().filter_map(complaint).collect()
    }

    fn wait_for(&mut self, method: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.browser.events.iter().any(|event| event["method"] == method) {
            let event = self.browser.next(deadline, method);
            self.browser.events.push(event);
        }
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.browser.call(Some(&self.session), method, params)
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.browser.call(None, "Target.closeTarget", &json!({ "targetId": self.target }));
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("an identifier is text").to_owned()
}

fn program() -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = NAMES
        .into_iter()
        .flat_map(|name| std::env::split_paths(&folders).map(move |folder| folder.join(name)))
        .find(|file| file.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "no browser: expected one of {} on PATH; `scripts/bootstrap.sh test` installs chromium",
            NAMES.join(", ")
        )
    })
}

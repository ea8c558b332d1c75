//! Starting and stopping servers of the real world.
//!
//! All of them serve `/small.txt` (6 bytes), `/empty.txt`, `/medium.bin` (300000 bytes), `/page.shtml` (19 bytes, in
//! chunks) and `/moved` (a redirect); nginx and Apache also `/large.bin`, which takes no room on the disk; Python
//! sends back what is sent to `/echo`. nginx compresses what is below `/gzip/` for those who ask for it, and says of
//! files whose names end in `.gz`, `.br` and `.zst` that they are compressed.

use std::env;
use std::fs::{self, File, Permissions};
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use httperf_testkit::skip;
use httperf_testkit::tcp::free_port;
use rustix::process::geteuid;
use tempfile::TempDir;

use crate::support::group::Group;
use crate::support::nginx::Nginx;

/// How long a server may take until it accepts connections.
const START_WAIT: Duration = Duration::from_secs(10);

/// Another process can take a port between its choice and its use: then another one is tried.
const ATTEMPTS: usize = 3;

/// The size in bytes of `/large.bin`, a file with a hole in place of its contents.
const LARGE_SIZE: u64 = 100 * 1024 * 1024;

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Nginx,
    Apache,
    Python,
}

/// How it is set up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    /// After how many requests it closes a connection, saying so; never by default.
    pub(crate) requests_per_connection: Option<u32>,
    /// The largest body that nginx takes, in bytes; a megabyte by default.
    pub(crate) body_max: Option<u32>,
    /// Whether nginx logs requests.
    pub(crate) has_log: bool,
    /// The format of the access log: nginx's `log_format`, in its quotes, or Apache's `LogFormat`.
    pub(crate) log_format: Option<&'static str>,
    /// The requests that nginx answers with 503.
    pub(crate) limit: Option<Limit>,
}

/// Requests that nginx answers; others are refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) per_second: u32,
    /// Further requests at once.
    pub(crate) burst: u32,
}

/// A running server; dropping it stops it with all its processes.
#[derive(Debug)]
pub(crate) struct RealServer {
    group: Group,
    folder: TempDir,
    port: u16,
}

impl RealServer {
    /// Starts a server; `None`, with a word on stdout, if it is not installed.
    pub(crate) fn start(kind: Kind, settings: Settings) -> Option<Self> {
        let Some(program) = kind.find() else {
            skip::lacking(kind.name());
            return None;
        };
        let mut failures = Vec::new();
        for _ in 0..ATTEMPTS {
            match Self::try_start(kind, &program, settings) {
                Ok(server) => return Some(server),
                Err(failure) => failures.push(failure),
            }
        }
        panic!("{} does not start: {failures:?}", kind.name());
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The folder with what it serves.
    pub(crate) fn documents(&self) -> PathBuf {
        self.folder.path().join("docs")
    }

    /// The access log.
    pub(crate) fn access_log(&self) -> PathBuf {
        self.folder.path().join("access.log")
    }

    /// The requests that nginx has logged so far: the number of the connection, and the target.
    pub(crate) fn logged(&self) -> Vec<(u64, String)> {
        let text = fs::read_to_string(self.folder.path().join("access.log")).unwrap_or_default();
        // The last line may be half written.
        let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        lines
            .map(|line| {
                let (connection, target) =
                    line.split_once(' ').expect("the format of the log has two fields");
                (connection.parse().expect("the first one is a number"), target.to_owned())
            })
            .collect()
    }

    /// The unix-domain socket that nginx listens on as well.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn try_start(kind: Kind, program: &Path, settings: Settings) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let root = folder.path();
        // Apache's workers are another user's.
        fs::set_permissions(root, Permissions::from_mode(0o755)).map_err(|error| error.to_string())?;
        write_documents(&root.join("docs"), kind).map_err(|error| error.to_string())?;
        if kind == Kind::Python {
            return Self::start_python(program, folder, settings);
        }
        let port = free_port();
        let mut command = match kind {
            Kind::Apache => apache(program, root, port, settings)?,
            Kind::Nginx | Kind::Python => nginx(program, root, port, settings),
        };
        let log = File::create(root.join("output.log")).map_err(|error| error.to_string())?;
        let group = Group::spawn(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log))?;
        let mut server = Self { group, folder, port };
        server.wait_until(|server| server.has_started() && server.accepts())?;
        Ok(server)
    }

    /// Python chooses its port by itself and says which.
    fn start_python(program: &Path, folder: TempDir, settings: Settings) -> Result<Self, String> {
        let requests = settings.requests_per_connection.unwrap_or(u32::MAX);
        let mut command = Command::new(program);
        command.args(["-u", "-c", PYTHON_SERVER]).arg(folder.path().join("docs")).arg(requests.to_string());
        let mut group =
            Group::spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()))?;
        let stdout = group.child().stdout.take().ok_or("its output was not captured")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
        let port = line.trim().parse().map_err(|_| format!("it said `{line}` where a port was expected"))?;
        let mut server = Self { group, folder, port };
        server.wait_until(Self::accepts)?;
        Ok(server)
    }

    fn accepts(&self) -> bool {
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok()
    }

    /// Whether it has written its process id, which it does when it has its port: nginx tries for a while to get one
    /// that somebody else has taken meanwhile, and accepts.
    fn has_started(&self) -> bool {
        fs::read(self.folder.path().join("pid")).is_ok_and(|text| !text.is_empty())
    }

    fn wait_until(&mut self, is_ready: impl Fn(&Self) -> bool) -> Result<(), String> {
        let began = Instant::now();
        while began.elapsed() < START_WAIT {
            if let Ok(Some(status)) = self.group.child().try_wait() {
                let log = fs::read_to_string(self.folder.path().join("output.log")).unwrap_or_default();
                let errors = fs::read_to_string(self.folder.path().join("error.log")).unwrap_or_default();
                return Err(format!("it ended with {status}: {log}{errors}"));
            }
            if is_ready(self) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err("it accepts no connection".to_owned())
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Apache => "apache2",
            Self::Python => "python3",
        }
    }

    fn find(self) -> Option<PathBuf> {
        let names: &[&str] = match self {
            Self::Nginx => &["nginx"],
            Self::Apache => &["apache2", "httpd"],
            Self::Python => &["python3"],
        };
        // Servers are often in a folder that is not on the search path of ordinary users.
        let path = env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> =
            env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]).collect();
        let candidates = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        candidates.into_iter().find(|file| file.is_file())
    }
}

fn write_documents(docs: &Path, kind: Kind) -> std::io::Result<()> {
    fs::create_dir(docs)?;
    fs::write(docs.join("small.txt"), "small\n")?;
    fs::write(docs.join("empty.txt"), "")?;
    fs::write(docs.join("index.html"), "hello")?;
    fs::write(docs.join("medium.bin"), vec![b'm'; 300_000])?;
    // What is put in by the server has no length beforehand, so that the reply is in chunks: 19 bytes in all.
    let page = match kind {
        Kind::Apache => "before <!--#echo var=\"NONE\" --> after\n",
        Kind::Nginx => "before <!--# echo var=\"none\" default=\"(none)\" --> after",
        Kind::Python => "before (none) after",
    };
    fs::write(docs.join("page.shtml"), page.trim_end())?;
    // A file with a hole in place of its contents.
    File::create(docs.join("large.bin"))?.set_len(LARGE_SIZE)
}

fn nginx(program: &Path, root: &Path, port: u16, settings: Settings) -> Command {
    let mut nginx = Nginx::new(root)
        .requests_per_connection(settings.requests_per_connection.unwrap_or(1_000_000))
        .http("types { text/html shtml html; text/plain txt; }")
        .http(format!("client_max_body_size {};", settings.body_max.unwrap_or(1024 * 1024)))
        .listen(format!("127.0.0.1:{port}"))
        .listen(format!("unix:{}/socket", root.display()))
        .server("location = /page.shtml { ssi on; }")
        .server("location = /moved { return 301 /small.txt; }")
        .server(format!(
            "location /gzip/ {{ alias {}/docs/; gzip on; gzip_types *; gzip_min_length 1; }}",
            root.display()
        ))
        .server("location ~ \\.gz$ { add_header Content-Encoding gzip; }")
        .server("location ~ \\.br$ { add_header Content-Encoding br; }")
        .server("location ~ \\.zst$ { add_header Content-Encoding zstd; }");
    if let Some(Limit { per_second, burst }) = settings.limit {
        nginx = nginx
            .http(format!("limit_req_zone all zone=limit:1m rate={per_second}r/s;"))
            .server(format!("limit_req zone=limit burst={burst} nodelay;"));
    }
    if settings.has_log {
        nginx = nginx.log("'$connection $request_uri'");
    }
    if let Some(format) = settings.log_format {
        nginx = nginx.log(format);
    }
    nginx.command(program)
}

fn apache(program: &Path, root: &Path, port: u16, settings: Settings) -> Result<Command, String> {
    let configuration = root.join("server.conf");
    fs::write(&configuration, apache_configuration(root, port, settings)?)
        .map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg("-D").arg("FOREGROUND").arg("-f").arg(configuration);
    Ok(command)
}

fn apache_configuration(root: &Path, port: u16, settings: Settings) -> Result<String, String> {
    let folders = ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/lib/httpd/modules"];
    let modules = folders
        .iter()
        .find(|folder| Path::new(folder).is_dir())
        .ok_or("the folder of its modules is not known")?;
    let mut load = String::new();
    for module in ["mpm_event", "unixd", "authz_core", "mime", "include", "alias", "log_config"] {
        // Some are built in, and differ from system to system.
        let file = format!("{modules}/mod_{module}.so");
        if Path::new(&file).is_file() {
            load += &format!("LoadModule {module}_module {file}\n");
        }
    }
    // It refuses to serve as root.
    let user = if geteuid().is_root() { "User nobody\nGroup #65534\n" } else { "" };
    let root = root.display();
    let log = settings.log_format.map_or_else(String::new, |format| {
        format!("LogFormat \"{}\" tests\nCustomLog {root}/access.log tests", format.replace('"', "\\\""))
    });
    // What it limits is how often a connection is kept, which is one less than the replies it carries.
    let requests = settings.requests_per_connection.map_or(0, |requests| requests - 1);
    Ok(format!(
        "{load}{user}
        ServerRoot {root}
        ServerName 127.0.0.1
        Listen 127.0.0.1:{port}
        PidFile {root}/pid
        ErrorLog {root}/error.log
        TypesConfig /dev/null
        DefaultRuntimeDir {root}
        StartServers 1
        KeepAlive On
        MaxKeepAliveRequests {requests}
        DocumentRoot {root}/docs
        AddType text/html .shtml
        AddOutputFilter INCLUDES .shtml
        {log}
        Redirect 301 /moved /small.txt
        <Directory {root}/docs>
            Options +Includes
            Require all granted
        </Directory>\n"
    ))
}

/// Serves the folder given first; closes connections after as many requests as given second.
const PYTHON_SERVER: &str = r#"
import http.server, pathlib, sys

docs, requests = pathlib.Path(sys.argv[1]), int(sys.argv[2])

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    served = 0

    def answer(self):
        self.served += 1
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        file = docs / self.path.lstrip("/")
        if self.path == "/moved":
            self.head(301, 0, [("Location", "/small.txt")])
        elif self.path == "/echo":
            self.head(200, len(sent))
            self.wfile.write(sent)
        elif not file.is_file():
            self.head(404, 0)
        elif self.path == "/page.shtml":
            self.head(200, None, [("Transfer-Encoding", "chunked")])
            for piece in (b"before ", b"(none)", b" after"):
                self.wfile.write(b"%X\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        else:
            body = file.read_bytes()
            self.head(200, len(body))
            if self.command != "HEAD":
                self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = answer

    def head(self, status, length, fields=()):
        self.send_response(status)
        for field in fields:
            self.send_header(*field)
        if length is not None:
            self.send_header("Content-Length", str(length))
        if self.served >= requests:
            self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_):
        pass

class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

server = Server(("127.0.0.1", 0), Handler)
print(server.server_port)
server.serve_forever()
"#;

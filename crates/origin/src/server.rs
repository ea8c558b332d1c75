//! The server: listening, accepting, stopping.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use httperf_plan::Endpoint;
use tokio::net::{TcpListener, TcpSocket, UnixListener, UnixSocket};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::task::{LocalSet, spawn_local};

use crate::config::Config;
use crate::connection;
use crate::counts::Counts;
use crate::http3;
use crate::shared::Shared;
use crate::tls::context::Acceptor;
use crate::transport::Transport;

/// A server that listens but does not accept yet.
#[derive(Debug)]
pub struct Server {
    config: Config,
    acceptor: Option<Acceptor>,
    address: Endpoint,
    runtime: Runtime,
    listener: Listener,
    /// The UDP port of HTTP/3.
    http3: Option<http3::listener::Listener>,
    stop: Arc<Notify>,
}

/// A handle that stops a server from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Notify>);

impl Stopper {
    /// Makes [`Server::run`] return: at once, if it is called later.
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

impl Server {
    /// Listens on the configured address. A socket file that no server listens on any more is replaced. Fails before
    /// listening if BoringSSL refuses the settings of TLS.
    pub fn bind(config: Config) -> io::Result<Self> {
        let offers_http2 = config.http2.is_some();
        let acceptor = config.tls.as_ref().map(|tls| Acceptor::new(tls, offers_http2)).transpose()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let inside = runtime.enter();
        let (listener, address, http3) = listen(&config)?;
        drop(inside);
        Ok(Self { config, acceptor, address, runtime, listener, http3, stop: Arc::default() })
    }

    /// Returns the address it listens on; for a configured port 0, with the port that the kernel picked.
    #[must_use]
    pub fn address(&self) -> &Endpoint {
        &self.address
    }

    /// Returns a handle that stops this server.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.stop))
    }

    /// Lets SIGINT and SIGTERM stop the server instead of the process from now on.
    pub fn stop_on_signals(&self) -> io::Result<()> {
        let _inside = self.runtime.enter();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let stopper = self.stopper();
        self.runtime.spawn(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            stopper.stop();
        });
        Ok(())
    }

    /// Serves until stopped, then drops all connections and returns its counts. Fails only if the system refuses a
    /// timer.
    pub fn run(self) -> io::Result<Counts> {
        let Self { config, acceptor, address, runtime, listener, http3, stop } = self;
        let tasks = LocalSet::new();
        let result = tasks.block_on(&runtime, async {
            let mut shared = Shared::new(config, acceptor)?;
            if let (Some(_), Endpoint::Tcp(address)) = (&http3, &address) {
                shared = shared.announcing_http3(address.port());
            }
            let shared = Rc::new(shared);
            let timer = Rc::clone(&shared.timer);
            let accepting = accept_all(&listener, &shared);
            let accepting_http3 = async {
                match &http3 {
                    Some(http3) => http3.accept_all(&shared).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                () = stop.notified() => {}
                result = timer.run() => result?,
                () = accepting => {}
                () = accepting_http3 => {}
            }
            Ok(shared)
        });
        // The connections go first: their last counts are part of the result.
        drop(tasks);
        drop(listener);
        if let Endpoint::Unix(path) = &address {
            // Somebody else may have removed it already.
            let _: io::Result<()> = std::fs::remove_file(path);
        }
        let datagrams_lost = http3.as_ref().map_or(0, http3::listener::Listener::lost);
        if let Some(http3) = http3 {
            runtime.block_on(http3.finish());
        }
        result.map(|shared: Rc<Shared>| Counts { datagrams_lost, ..shared.counts() })
    }
}

/// Starts a server on a thread of its own.
pub fn spawn(config: Config) -> io::Result<Handle> {
    let server = Server::bind(config)?;
    let address = server.address().clone();
    let stopper = server.stopper();
    let thread = thread::Builder::new().name("origin".to_owned()).spawn(move || server.run())?;
    Ok(Handle { address, stopper, thread: Some(thread) })
}

/// A server on a thread of its own; dropping it stops the server.
#[derive(Debug)]
pub struct Handle {
    address: Endpoint,
    stopper: Stopper,
    /// `Some` until it is joined.
    thread: Option<JoinHandle<io::Result<Counts>>>,
}

impl Handle {
    /// Returns the address it listens on.
    #[must_use]
    pub fn address(&self) -> &Endpoint {
        &self.address
    }

    /// Returns the address it listens on, if that is a TCP port.
    #[must_use]
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        match self.address {
            Endpoint::Tcp(address) => Some(address),
            Endpoint::Unix(_) => None,
        }
    }

    /// Stops the server and returns its counts.
    ///
    /// # Panics
    ///
    /// If the server's thread panicked.
    pub fn stop(mut self) -> io::Result<Counts> {
        self.join()
            .expect("a handle is stopped once")
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn join(&mut self) -> Option<thread::Result<io::Result<Counts>>> {
        self.stopper.stop();
        self.thread.take().map(JoinHandle::join)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure.
        let _: Option<thread::Result<io::Result<Counts>>> = self.join();
    }
}

/// Accepts connections for ever.
async fn accept_all(listener: &Listener, shared: &Rc<Shared>) {
    loop {
        match listener.accept().await {
            Ok(transport) if shared.is_full() => {
                shared.counts.borrow_mut().connections_refused += 1;
                transport.reset_at_close();
            }
            Ok(transport) => {
                spawn_local(connection::run(transport, Rc::clone(shared)));
            }
            // The client left the queue.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => {
                shared.counts.borrow_mut().accept_errors += 1;
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// The pause after a failure to accept, in which descriptors may come free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Listens, within a runtime, on all ports that the configuration asks for.
fn listen(config: &Config) -> io::Result<(Listener, Endpoint, Option<http3::listener::Listener>)> {
    let Some(http3) = &config.http3 else {
        let (listener, address) = Listener::bind(&config.listen, config.limits.backlog)?;
        return Ok((listener, address, None));
    };
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what);
    let tls = config.tls.as_ref().ok_or_else(|| invalid("HTTP/3 needs TLS"))?;
    http3::tls::fits_http3(tls).map_err(|unfit| invalid(&unfit.to_string()))?;
    let mut attempts = 1;
    loop {
        let (listener, endpoint) = Listener::bind(&config.listen, config.limits.backlog)?;
        let Endpoint::Tcp(address) = endpoint else {
            return Err(invalid("HTTP/3 needs a port"));
        };
        match http3::listener::Listener::bind(address, tls, http3) {
            Ok(http3) => return Ok((listener, endpoint, Some(http3))),
            // Somebody else has the UDP port of the number that the kernel picked.
            Err(error)
                if error.kind() == io::ErrorKind::AddrInUse
                    && config.listen != endpoint
                    && attempts < ATTEMPTS_MAX =>
            {
                attempts += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Attempts to find a number that is free for both TCP and UDP.
const ATTEMPTS_MAX: u32 = 100;

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Listens, within a runtime.
    fn bind(endpoint: &Endpoint, backlog: u32) -> io::Result<(Self, Endpoint)> {
        match endpoint {
            Endpoint::Tcp(address) => {
                let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
                socket.set_reuseaddr(true)?;
                socket.bind(*address)?;
                let listener = socket.listen(backlog)?;
                let address = listener.local_addr()?;
                Ok((Self::Tcp(listener), Endpoint::Tcp(address)))
            }
            Endpoint::Unix(path) => {
                remove_stale_socket(path);
                let socket = UnixSocket::new_stream()?;
                socket.bind(path)?;
                Ok((Self::Unix(socket.listen(backlog)?), endpoint.clone()))
            }
        }
    }

    async fn accept(&self) -> io::Result<Transport> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // A connection that died in the queue fails when it is used.
                let _: io::Result<()> = stream.set_nodelay(true);
                Ok(Transport::Tcp(stream))
            }
            Self::Unix(listener) => Ok(Transport::Unix(listener.accept().await?.0)),
        }
    }
}

/// Removes the socket file of a server that ended abruptly. If that fails, binding reports the error.
fn remove_stale_socket(path: &Path) {
    let is_socket = path.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_socket());
    if !is_socket {
        return;
    }
    let probe = std::os::unix::net::UnixStream::connect(path);
    if probe.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
        let _: io::Result<()> = std::fs::remove_file(path);
    }
}

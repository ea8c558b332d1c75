//! The UDP port: listening, accepting, stopping.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use quinn::{Endpoint, EndpointConfig, Runtime as _, ServerConfig, TokioRuntime};
use quinn_proto::HashedConnectionIdGenerator;
use rustix::net::sockopt;
use tokio::task::spawn_local;
use tokio::time::timeout;

use super::driver;
use super::settings::Http3;
use super::socket::{Loss, LossySocket};
use super::tls;
use crate::shared::Shared;
use crate::tls::settings::Tls;

/// A UDP port on which QUIC is spoken.
#[derive(Debug)]
pub(crate) struct Listener {
    endpoint: Endpoint,
    socket: Arc<LossySocket>,
    retries: bool,
}

impl Listener {
    /// Listens, within a runtime.
    pub(crate) fn bind(address: SocketAddr, tls: &Tls, http3: &Http3) -> io::Result<Self> {
        let mut server = ServerConfig::with_crypto(Arc::new(tls::sessions(tls)?));
        server.transport_config(Arc::new(http3.transport()));
        let key = RandomState::new().build_hasher().finish();
        let mut config = EndpointConfig::default();
        config.cid_generator(move || Box::new(HashedConnectionIdGenerator::from_key(key)));
        let socket = UdpSocket::bind(address)?;
        // The system may allow less.
        let _: rustix::io::Result<()> = sockopt::set_socket_recv_buffer_size(&socket, BUFFER_SIZE);
        let _: rustix::io::Result<()> = sockopt::set_socket_send_buffer_size(&socket, BUFFER_SIZE);
        let loss = Loss::new(http3.lost, HashedConnectionIdGenerator::from_key(key));
        let socket = TokioRuntime.wrap_udp_socket(socket)?;
        let socket = Arc::new(LossySocket::new(socket, (http3.lost > 0).then_some(loss)));
        let endpoint = Endpoint::new_with_abstract_socket(
            config,
            Some(server),
            Arc::clone(&socket) as _,
            Arc::new(TokioRuntime),
        )?;
        Ok(Self { endpoint, socket, retries: http3.retries })
    }

    /// Accepts connections for ever.
    pub(crate) async fn accept_all(&self, shared: &Rc<Shared>) {
        while let Some(incoming) = self.endpoint.accept().await {
            if self.retries && incoming.may_retry() {
                shared.counts.borrow_mut().retries += 1;
                // It may.
                let _: Result<(), quinn::RetryError> = incoming.retry();
            } else if shared.is_full() {
                shared.counts.borrow_mut().connections_refused += 1;
                incoming.refuse();
            } else {
                match incoming.accept() {
                    Ok(connecting) => {
                        let socket = Arc::clone(&self.socket);
                        spawn_local(driver::run(connecting, Rc::clone(shared), socket));
                    }
                    // The handshake failed over the first packet.
                    Err(error) => {
                        drop(shared.note_open());
                        driver::count_failure(&error, shared);
                    }
                }
            }
        }
    }

    /// Returns the number of datagrams that were lost on purpose.
    pub(crate) fn lost(&self) -> u64 {
        self.socket.lost()
    }

    /// Lets what closes connections go out.
    pub(crate) async fn finish(self) {
        // Clients that answer make it shorter.
        let _: Result<(), tokio::time::error::Elapsed> = timeout(LAST_WORDS, self.endpoint.wait_idle()).await;
    }
}

/// The wanted size of the socket's buffers: some thousand datagrams.
const BUFFER_SIZE: usize = 4 << 20;

/// The time for the last packets of connections.
const LAST_WORDS: Duration = Duration::from_millis(10);

//! The UDP socket under QUIC, with the faults of a network: datagrams that are lost, and peers to whom nothing goes out.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, ConnectionId, ConnectionIdGenerator, UdpPoller};
use quinn_proto::HashedConnectionIdGenerator;

/// A socket that loses datagrams on request.
pub(super) struct LossySocket {
    socket: Arc<dyn AsyncUdpSocket>,
    loss: Option<Mutex<Loss>>,
    /// Peers to whom nothing is sent.
    muted: Mutex<HashSet<SocketAddr>>,
    lost: AtomicU64,
}

impl std::fmt::Debug for LossySocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LossySocket").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl LossySocket {
    /// Loses the first datagrams of each new connection, if a loss is given.
    pub(super) fn new(socket: Arc<dyn AsyncUdpSocket>, loss: Option<Loss>) -> Self {
        Self { socket, loss: loss.map(Mutex::new), muted: Mutex::default(), lost: AtomicU64::new(0) }
    }

    /// Sends nothing to this peer until the result is dropped.
    pub(super) fn mute(self: &Arc<Self>, peer: SocketAddr) -> Muted {
        locked(&self.muted).insert(peer);
        Muted { socket: Arc::clone(self), peer }
    }

    /// Returns the number of datagrams that were lost on purpose.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Removes lost datagrams from a buffer that may hold several of a peer, one behind the other. Returns false if none
    /// is left.
    fn lose(&self, loss: &Mutex<Loss>, buffer: &mut [u8], meta: &mut RecvMeta) -> bool {
        let mut loss = locked(loss);
        let (mut from, mut kept) = (0, 0);
        while from < meta.len {
            let end = meta.len.min(from + meta.stride);
            if loss.takes(&buffer[from..end]) {
                self.lost.fetch_add(1, Ordering::Relaxed);
            } else {
                buffer.copy_within(from..end, kept);
                kept += end - from;
            }
            from = end;
        }
        meta.len = kept;
        meta.stride = meta.stride.min(kept);
        kept > 0
    }
}

impl AsyncUdpSocket for LossySocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.socket).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        if locked(&self.muted).contains(&transmit.destination) {
            return Ok(());
        }
        self.socket.try_send(transmit)
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let Some(loss) = &self.loss else { return self.socket.poll_recv(context, buffers, metas) };
        loop {
            let count = ready!(self.socket.poll_recv(context, buffers, metas))?;
            let mut kept = 0;
            for index in 0..count {
                if !self.lose(loss, &mut buffers[index], &mut metas[index]) {
                    continue;
                }
                if kept < index {
                    let (before, behind) = buffers.split_at_mut(index);
                    let size = metas[index].len;
                    before[kept][..size].copy_from_slice(&behind[0][..size]);
                    metas[kept] = metas[index];
                }
                kept += 1;
            }
            if kept > 0 || count == 0 {
                return Poll::Ready(Ok(kept));
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.socket.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}

/// Keeps a peer muted.
#[derive(Debug)]
pub(super) struct Muted {
    socket: Arc<LossySocket>,
    peer: SocketAddr,
}

impl Drop for Muted {
    fn drop(&mut self) {
        locked(&self.socket.muted).remove(&self.peer);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The loss of the first datagrams of each new connection.
///
/// Until a client hears from the server, its datagrams bear a destination that it drew itself; afterwards, one that the
/// server made, which its generator recognises.
pub(super) struct Loss {
    /// Datagrams to lose of each connection.
    count: u32,
    ours: HashedConnectionIdGenerator,
    /// Datagrams lost of the newest connections.
    lost: HashMap<Vec<u8>, u32>,
    /// Their destinations, oldest first.
    order: VecDeque<Vec<u8>>,
}

/// Connections whose losses are remembered.
const NEW_CONNECTIONS_MAX: usize = 100_000;

impl Loss {
    /// Loses `count` datagrams of each connection. `ours` recognises the destinations that the server made.
    pub(super) fn new(count: u32, ours: HashedConnectionIdGenerator) -> Self {
        Self { count, ours, lost: HashMap::new(), order: VecDeque::new() }
    }

    /// Returns true if this datagram is to be lost.
    fn takes(&mut self, datagram: &[u8]) -> bool {
        let Some(destination) = first_destination(datagram) else { return false };
        let is_ours = destination.len() == self.ours.cid_len()
            && self.ours.validate(&ConnectionId::new(destination)).is_ok();
        if is_ours {
            return false;
        }
        if let Some(lost) = self.lost.get_mut(destination) {
            *lost += 1;
            return *lost <= self.count;
        }
        if self.order.len() == NEW_CONNECTIONS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.lost.remove(&oldest);
        }
        self.order.push_back(destination.to_vec());
        self.lost.insert(destination.to_vec(), 1);
        true
    }
}

/// Returns the destination of a datagram that begins with a long header; `None` for any other.
///
/// <https://www.rfc-editor.org/rfc/rfc9000#section-17.2>
fn first_destination(datagram: &[u8]) -> Option<&[u8]> {
    const IS_LONG: u8 = 0x80;
    let (&first, rest) = datagram.split_first()?;
    if first & IS_LONG == 0 {
        return None;
    }
    // Behind the version.
    let (&size, rest) = rest.get(4..)?.split_first()?;
    // Longer ones are for versions to come.
    rest.get(..usize::from(size)).filter(|destination| destination.len() <= 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A datagram that begins with a long header.
    fn initial(destination: &[u8]) -> Vec<u8> {
        let size = u8::try_from(destination.len()).unwrap();
        [&[0xc3, 0, 0, 0, 1, size], destination, &[0; 10]].concat()
    }

    #[test]
    fn the_first_datagrams_of_each_connection_are_lost() {
        let mut server = HashedConnectionIdGenerator::from_key(7);
        let mut loss = Loss::new(2, HashedConnectionIdGenerator::from_key(7));
        let (one, other) = (initial(b"abcdefgh"), initial(b"another connection"));
        assert!(loss.takes(&one));
        assert!(loss.takes(&other));
        assert!(loss.takes(&one));
        assert!(!loss.takes(&one));
        assert!(loss.takes(&other));
        assert!(!loss.takes(&other));
        assert!(!loss.takes(&initial(&server.generate_cid())), "the server has answered");
        assert!(!loss.takes(b"\x40 a short header"));
        assert!(!loss.takes(b""));
        assert!(!loss.takes(b"\xc3\0\0"));
    }

    #[test]
    fn what_is_left_of_a_buffer_stays_in_order() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let socket = quinn::Runtime::wrap_udp_socket(&quinn::TokioRuntime, socket).unwrap();
        let socket = LossySocket::new(socket, None);
        let loss = Mutex::new(Loss::new(1, HashedConnectionIdGenerator::from_key(7)));
        let lost = initial(b"abcdefgh");
        let mut buffer = [&lost[..], &vec![0x40; lost.len()], &lost[..], b"\x41end"].concat();
        let mut meta = RecvMeta { len: buffer.len(), stride: lost.len(), ..RecvMeta::default() };
        assert!(socket.lose(&loss, &mut buffer, &mut meta));
        assert_eq!((meta.len, meta.stride, socket.lost()), (2 * lost.len() + 4, lost.len(), 1));
        assert_eq!(&buffer[..meta.len], [&vec![0x40; lost.len()], &lost[..], b"\x41end"].concat());
    }
}

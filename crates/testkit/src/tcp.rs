//! Ports of the loopback interface, and servers for them that a test writes by hand. What [`crate::server`] can be scripted
//! to do needs none of this.

use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// Where the ports of [`free_port`] are: below those that systems hand out by themselves (RFC 6335, section 6, from 49152;
/// Linux, from 32768).
const FIRST: u16 = 10_000;
const COUNT: u16 = 20_000;

/// Listens on a free port of 127.0.0.1, which comes with the listener.
///
/// # Panics
///
/// If no port is free.
#[must_use]
pub fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let port = listener.local_addr().expect("a listener has an address").port();
    (listener, port)
}

/// Finds a port of 127.0.0.1 on which nobody listens: see [`free_port_at`].
///
/// # Panics
///
/// If no port is free.
#[must_use]
pub fn free_port() -> u16 {
    free_port_at(Ipv4Addr::LOCALHOST.into())
}

/// Finds a port on which nobody listens, by TCP or by UDP. Each call of a process finds another one, and none that the
/// system hands out: until it is used, a connection of another test could be given it, or a listener, which would then
/// answer in place of the server.
///
/// # Panics
///
/// If no port is free.
#[must_use]
pub fn free_port_at(address: IpAddr) -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Tests of other processes, which may run at the same time, begin elsewhere.
    let begin = process::id().wrapping_mul(37);
    let mut ports = (0..COUNT).map(|_| {
        let next = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        FIRST + (next % u32::from(COUNT)) as u16
    });
    let is_free =
        |&port: &u16| TcpListener::bind((address, port)).is_ok() && UdpSocket::bind((address, port)).is_ok();
    ports.find(is_free).expect("a port is free")
}

/// Starts a server whose connections are handled on threads of their own, with their numbers from 0. Returns its port. It
/// ends with the process.
///
/// # Panics
///
/// If no port is free.
#[must_use]
pub fn serve(handle: impl Fn(usize, TcpStream) + Send + Sync + 'static) -> u16 {
    let (listener, port) = listen();
    let handle = Arc::new(handle);
    thread::spawn(move || {
        for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            let handle = Arc::clone(&handle);
            thread::spawn(move || handle(number, stream));
        }
    });
    port
}

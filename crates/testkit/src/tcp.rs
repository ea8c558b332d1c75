//! Ports of the loopback interface, and servers for them that a test writes by hand. What [`crate::server`] can be scripted
//! to do needs none of this.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

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

/// Finds a port on which nobody listens. Another process can take it before it is used.
///
/// # Panics
///
/// If no port is free.
#[must_use]
pub fn free_port() -> u16 {
    listen().1
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

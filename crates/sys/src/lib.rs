//! Calls that have no safe wrapper elsewhere. Every `unsafe` block of the project is in this crate, in small
//! functions that are safe to call whatever their arguments.

#![expect(unsafe_code, reason = "the one place for it; each block says why it is sound")]

mod poller;
mod process;
mod socket;
mod stamps;
pub mod tls;

pub use poller::epoll_wait_millis;
pub use process::{CpuUsage, cpu_usage, is_ignored, thread_usage};
pub use socket::{
    TcpInfo, set_bind_address_no_port, set_local_port_range, set_tcp_fastopen_connect, tcp_info,
};
pub use stamps::{Sent, Stamped, number_sent, receive, send_stamped, stamp_received, take_sent};

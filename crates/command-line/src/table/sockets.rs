//! Time limits, and how sockets are made and closed.

use super::rules::NOT_OVER_UDP;
use crate::args::Args;
use crate::grammar::{Opt, ParseStop, Value};
use crate::values::bounded;

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::with_value("timeout", "X", "gives the server X seconds for each step")
        .common()
        .classic()
        .details(&[
            "The steps are connecting, taking a request, and replying. Default: 0, which waits for ever, as does any number \
             below it. A reply must be complete X seconds after its first byte, whether or not bytes keep coming; expiry \
             counts as client-timo and closes the connection. The manual page has a section on choosing it.",
        ])
        .sets(&["timeouts.timeout_ns"])
        .apply(|args, value| {
            args.timeout = seconds("illegal connect timeout", value)?;
            Ok(())
        }),
    Opt::with_value("think-timeout", "X", "gives the server X more seconds for its reply")
        .classic()
        .details(&[
            "Default: 0. Added to --timeout once a request was sent. A negative number shortens the time \
             for a reply; if nothing is left of it, there is no limit.",
        ])
        .sets(&["timeouts.think_timeout_ns"])
        .apply(|args, value| {
            args.think_timeout = seconds("illegal think timeout value", value)?;
            Ok(())
        }),
    Opt::with_value("send-buffer", "N", "asks for send buffers of N bytes")
        .classic()
        .details(&["Default: 4096."])
        .sets(&["sockets.send_buffer"])
        .apply(|args, value| {
            args.send_buffer = buffer_size("illegal send buffer size", value)?;
            args.sources.sizes_send_buffer = true;
            Ok(())
        }),
    Opt::with_value("recv-buffer", "N", "asks for receive buffers of N bytes")
        .classic()
        .details(&["Default: 16384."])
        .sets(&["sockets.recv_buffer"])
        .apply(|args, value| {
            args.recv_buffer = buffer_size("illegal receive buffer size", value)?;
            args.sources.sizes_recv_buffer = true;
            Ok(())
        }),
    Opt::flag("close-with-reset", "closes connections with a TCP reset")
        .classic()
        .details(&["This leaves no port waiting on this machine, and is not how browsers close."])
        .conflicts(&[NOT_OVER_UDP])
        .sets(&["sockets.close_with_reset"])
        .apply(|args, _| {
            args.close_with_reset = true;
            Ok(())
        }),
    Opt::flag("hog", "uses all local ports from 1024, not only those the kernel hands out")
        .classic()
        .details(&["Needed for more connections than there are ephemeral ports."])
        .conflicts(&[NOT_OVER_UDP])
        .sets(&["sockets.hog"])
        .apply(|args, _| {
            args.hog = true;
            Ok(())
        }),
    Opt::with_value("myaddr", "S", "binds connections to these local addresses, in turn")
        .classic_091()
        .details(&[
            "A host name, an address, a range of addresses such as 10.0.0.1-10.0.0.9, or a prefix such as \
             10.0.0.0/24. May be given more than once: connections take all addresses in turn, and each \
             address has ports of its own.",
            "Of an IPv4 prefix the first and the last address, which stand for the network and for all of \
             it, are left out, unless it is longer than 30 bits or in 127.0.0.0/8. An IPv6 prefix has 64 \
             bits or more.",
            "An address that this machine does not have is refused before the run. Servers are reached \
             over the IP version of these addresses, which must be the same for all.",
        ])
        .sets(&["sockets.sources"])
        .apply(|args, value| {
            args.my_addresses.push(value.bytes().to_vec());
            Ok(())
        }),
];

/// Any number, as in the classic tool: one that is not above 0 sets no limit.
fn seconds(text: &str, value: Value<'_>) -> Result<f64, ParseStop> {
    value.seconds().ok_or_else(|| ParseStop::illegal(text, "a time such as 5s", value))
}

fn buffer_size(text: &str, value: Value<'_>) -> Result<u32, ParseStop> {
    // The system takes the size as a signed number.
    bounded(value, i32::MAX as u32).ok_or_else(|| ParseStop::illegal(text, "a number of bytes", value))
}

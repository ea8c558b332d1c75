//! A client of TLS: it never panics, and never waits for nothing.

use httperf_proto::tls::{Client, Context, Lane, Options, Progress, Read};

/// Feeds arbitrary bytes to a client in place of a server's, in pieces of the size that the first byte gives. The
/// client may refuse them at any point, and must neither panic nor wait without having used them up.
///
/// # Panics
/// If it waits with bytes left, or fails without a reason.
pub fn check_garbage(bytes: &[u8]) {
    let context =
        Context::new(&Options { sessions: true, ..Options::default() }).expect("the defaults fit together");
    let mut client = Client::new(&context, Some("server"), None, None);
    let mut lane = Lane::new(bytes.len().max(1));
    let cut = bytes.first().map_or(1, |&first| usize::from(first).max(1));
    assert_eq!(client.advance(&mut lane), Ok(Progress::Pending), "the server has said nothing yet");
    let mut out = Vec::new();
    assert!(lane.poll_transmit(&mut out), "a handshake begins with a ClientHello");
    let mut plaintext = [0; 256];
    for piece in bytes.chunks(cut) {
        lane.room()[..piece.len()].copy_from_slice(piece);
        lane.fill(piece.len());
        match client.advance(&mut lane) {
            Ok(Progress::Pending) => {
                assert!(lane.is_used_up(), "a client that waits has used all it was given");
            }
            Ok(Progress::EarlyData | Progress::EarlyDataRejected) => panic!("no session was offered"),
            Ok(Progress::Done) => {
                while let Ok(Read::Plaintext(_)) = client.read(&mut lane, &mut plaintext) {}
            }
            Err(failure) => {
                assert!(!failure.reason.is_empty());
                return;
            }
        }
    }
}

//! A server that says how far it has come, and resets the connection behind it.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use httperf_testkit::tcp;
use rustix::net::sockopt::set_socket_linger;

/// Types of frames, and flags: <https://www.rfc-editor.org/rfc/rfc9113#section-6>
const HEADERS: u8 = 0x1;
const SETTINGS: u8 = 0x4;
const GOAWAY: u8 = 0x7;
const ACK: u8 = 0x1;
const END_STREAM_AND_HEADERS: u8 = 0x5;

/// `:status: 204` of the static table of HPACK.
const NO_CONTENT: u8 = 0x89;

/// Starts one; it ends with the test's process. Each connection answers some requests, with an empty reply.
pub(crate) fn start() -> u16 {
    tcp::serve(|number, stream| {
        // A client may go first.
        let _ = serve(stream, 1 + number % 30);
    })
}

fn serve(mut stream: TcpStream, requests: usize) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut preface = [0; 24];
    stream.read_exact(&mut preface)?;
    write(&mut stream, SETTINGS, 0, 0, &[])?;
    let (mut answered, mut last) = (0, 0);
    while answered < requests {
        let mut header = [0; 9];
        stream.read_exact(&mut header)?;
        let [l0, l1, l2, kind, flags, id @ ..] = header;
        let mut payload = vec![0; u32::from_be_bytes([0, l0, l1, l2]) as usize];
        stream.read_exact(&mut payload)?;
        match kind {
            SETTINGS if flags & ACK == 0 => write(&mut stream, SETTINGS, ACK, 0, &[])?,
            HEADERS => {
                (answered, last) = (answered + 1, u32::from_be_bytes(id));
                write(&mut stream, HEADERS, END_STREAM_AND_HEADERS, last, &[NO_CONTENT])?;
            }
            _ => {}
        }
    }
    let (last, no_error) = (last.to_be_bytes(), [0; 4]);
    write(&mut stream, GOAWAY, 0, 0, &[last, no_error].concat())?;
    Ok(set_socket_linger(&stream, Some(std::time::Duration::ZERO))?)
}

fn write(stream: &mut TcpStream, kind: u8, flags: u8, id: u32, payload: &[u8]) -> io::Result<()> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&id.to_be_bytes());
    frame.extend_from_slice(payload);
    stream.write_all(&frame)
}

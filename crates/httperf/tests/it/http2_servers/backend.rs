//! What servers without a program of their own pass requests on to: it answers each with the size and the SHA-256 of its
//! body, over HTTP/1.1, once on each connection.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::sync::OnceLock;

use httperf_testkit::tcp::serve;
use sha2::{Digest as _, Sha256};

#[derive(Debug)]
pub(crate) struct Backend;

impl Backend {
    /// Where it listens. It ends with the test's process.
    pub(crate) fn port() -> u16 {
        static PORT: OnceLock<u16> = OnceLock::new();
        *PORT.get_or_init(|| {
            serve(|_, stream| {
                // A server that goes does not want the answer.
                let _ = answer(stream);
            })
        })
    }
}

fn answer(stream: TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let line = line(&mut reader)?.to_lowercase();
        match line.split_once(": ") {
            _ if line.is_empty() => break,
            Some(("content-length", value)) => length = value.parse().unwrap_or_default(),
            Some(("transfer-encoding", "chunked")) => is_chunked = true,
            _ => {}
        }
    }
    let mut body = Vec::new();
    if !is_chunked {
        reader.by_ref().take(length).read_to_end(&mut body)?;
    }
    while is_chunked {
        let size = u64::from_str_radix(&line(&mut reader)?, 16).unwrap_or_default();
        reader.by_ref().take(size).read_to_end(&mut body)?;
        line(&mut reader)?;
        is_chunked = size > 0;
    }
    let text = summary(&body);
    let length = text.len();
    let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}");
    reader.get_mut().write_all(reply.as_bytes())
}

fn line(reader: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

/// What is answered to a request with this body.
pub(crate) fn summary(body: &[u8]) -> String {
    format!("{} {}\n", body.len(), sha256(body))
}

/// A hash, as options want it.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes it");
        text
    })
}

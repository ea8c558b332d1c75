//! A client that writes what it is given and reads replies in the plainest way.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

pub(crate) mod http2;
pub(crate) mod http3;

use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use httperf_origin::{Config, Handle};

/// Longer than anything here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn start(config: Config) -> Handle {
    httperf_origin::spawn(config).unwrap()
}

pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    pub(crate) bytes_received: u64,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: Vec<(String, String)>,
    pub(crate) head_size: usize,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<(String, String)>,
}

impl Reply {
    /// The value of a field, named in lower case.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields(name).first().copied()
    }

    pub(crate) fn fields(&self, name: &str) -> Vec<&str> {
        let named = self.head.iter().filter(|(given, _)| given.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }
}

impl Client {
    pub(crate) fn connect(server: &Handle) -> Self {
        let stream = TcpStream::connect(server.tcp_address().unwrap()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), bytes_received: 0 }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// Sends as much as the server takes.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) {
        drop(self.stream.get_mut().write_all(bytes));
    }

    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.try_get(path).unwrap_or_else(|| panic!("no reply to {path}"))
    }

    /// `None` if the connection ends instead.
    pub(crate) fn try_get(&mut self, path: &str) -> Option<Reply> {
        self.try_send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
        self.read_reply().ok()
    }

    pub(crate) fn reply(&mut self) -> Reply {
        self.read_reply().unwrap()
    }

    /// `None` if it does not begin in time. For a client that is not used again.
    pub(crate) fn reply_within(&mut self, wait: Duration) -> Option<Reply> {
        self.stream.get_ref().set_read_timeout(Some(wait)).unwrap();
        let began = self.stream.fill_buf().is_ok();
        self.stream.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
        began.then(|| self.reply())
    }

    /// A status line with its header, and nothing behind it.
    pub(crate) fn head(&mut self) -> Reply {
        self.read_head().unwrap()
    }

    pub(crate) fn take(&mut self, size: usize) -> Vec<u8> {
        self.read_exact(size).unwrap()
    }

    /// The chunks of a body, up to the last.
    pub(crate) fn chunks(&mut self) -> Vec<Vec<u8>> {
        let mut chunks = Vec::new();
        while let Some(chunk) = self.read_chunk().unwrap() {
            chunks.push(chunk);
        }
        assert_eq!(self.read_line().unwrap(), "");
        chunks
    }

    /// What comes until the server closes in order.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let (bytes, end) = self.until_end();
        end.unwrap();
        bytes
    }

    /// What comes until the connection ends, and how it ends.
    pub(crate) fn until_end(&mut self) -> (Vec<u8>, Result<(), ErrorKind>) {
        let mut bytes = Vec::new();
        let end = self.stream.read_to_end(&mut bytes).map(|_| ()).map_err(|error| error.kind());
        (bytes, end)
    }

    /// Reads for as long as something comes, but not for ever.
    pub(crate) fn read_some(&mut self) {
        self.stream.get_ref().set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let mut bytes = Vec::new();
        drop(self.stream.by_ref().take(1 << 20).read_to_end(&mut bytes));
    }

    pub(crate) fn is_open(&mut self) -> bool {
        self.stream.get_ref().set_nonblocking(true).unwrap();
        let open = self.stream.fill_buf().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        self.stream.get_ref().set_nonblocking(false).unwrap();
        open
    }

    /// Whether the server ends the connection without a byte.
    pub(crate) fn is_cut_off(&mut self) -> bool {
        let (bytes, end) = self.until_end();
        bytes.is_empty() && end == Err(ErrorKind::ConnectionReset)
    }

    fn read_reply(&mut self) -> io::Result<Reply> {
        let mut reply = self.read_head()?;
        if let Some(size) = reply.field("content-length") {
            let size = size.parse().unwrap();
            reply.body = self.read_exact(size)?;
        } else if reply.field("transfer-encoding").is_some() {
            while let Some(chunk) = self.read_chunk()? {
                reply.body.extend(chunk);
            }
            reply.trailers = self.read_fields()?;
        }
        Ok(reply)
    }

    /// `None` for the last one, of which no byte is left but the trailers and the empty line behind them.
    fn read_chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let line = self.read_line()?;
        let size = usize::from_str_radix(&line, 16).unwrap();
        if size == 0 {
            return Ok(None);
        }
        let chunk = self.read_exact(size)?;
        assert_eq!(self.read_line()?, "");
        Ok(Some(chunk))
    }

    fn read_head(&mut self) -> io::Result<Reply> {
        let before = self.bytes_received;
        let line = self.read_line()?;
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let head = self.read_fields()?;
        let head_size = (self.bytes_received - before) as usize;
        Ok(Reply { status, head, head_size, body: Vec::new(), trailers: Vec::new() })
    }

    fn read_fields(&mut self) -> io::Result<Vec<(String, String)>> {
        let mut fields = Vec::new();
        loop {
            let line = self.read_line()?;
            let Some((name, value)) = line.split_once(": ") else {
                assert_eq!(line, "");
                return Ok(fields);
            };
            fields.push((name.to_owned(), value.to_owned()));
        }
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.bytes_received += self.stream.read_line(&mut line)? as u64;
        match line.strip_suffix("\r\n") {
            Some(line) => Ok(line.to_owned()),
            None => Err(ErrorKind::UnexpectedEof.into()),
        }
    }

    fn read_exact(&mut self, size: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; size];
        self.stream.read_exact(&mut bytes)?;
        self.bytes_received += size as u64;
        Ok(bytes)
    }
}

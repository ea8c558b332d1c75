//! A client of HTTP/2 that sends the frames it is told to and shows those that come.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use httperf_origin::Handle;
use httperf_proto::http2::hpack::{DEFAULT_TABLE_SIZE, Decoder, Encoder, Indexing};

use super::PATIENCE;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Types of frames.
const DATA: u8 = 0x0;
const HEADERS: u8 = 0x1;
const RST_STREAM: u8 = 0x3;
const SETTINGS: u8 = 0x4;
const PING: u8 = 0x6;
const GOAWAY: u8 = 0x7;
const WINDOW_UPDATE: u8 = 0x8;
const CONTINUATION: u8 = 0x9;

/// Flags.
const END_STREAM: u8 = 0x1;
const ACK: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

pub(crate) const INITIAL_WINDOW_SIZE: u16 = 0x4;

/// What came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Head {
        stream: u32,
        status: u16,
        fields: Vec<(String, String)>,
        is_end: bool,
    },
    Trailers {
        stream: u32,
        fields: Vec<(String, String)>,
    },
    Data {
        stream: u32,
        bytes: Vec<u8>,
        is_end: bool,
    },
    /// With its code.
    Reset {
        stream: u32,
        code: u32,
    },
    Settings(Vec<(u16, u32)>),
    SettingsAcknowledged,
    /// With the last stream and the code.
    Goaway {
        last: u32,
        code: u32,
    },
    Window {
        stream: u32,
        increment: u32,
    },
    /// What a frame header cannot begin.
    Garbage(Vec<u8>),
    /// The server closed the connection.
    Closed,
    /// The connection was reset.
    Cut,
}

/// One whole reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<(String, String)>,
}

impl Reply {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }
}

pub(crate) struct Client {
    stream: TcpStream,
    decoder: Decoder,
    next_stream: u32,
    /// Whether what comes for flow control and settings is shown.
    pub(crate) shows_all: bool,
    /// Whether windows are opened as data come.
    pub(crate) opens_windows: bool,
    /// Whether sending failed because the connection was reset: the system says that once.
    was_cut: bool,
    /// Events of other streams that a reply was waited for beside.
    kept: VecDeque<Event>,
}

impl Client {
    /// Connects with prior knowledge; the client's SETTINGS are empty.
    pub(crate) fn connect(server: &Handle) -> Self {
        let mut client = Self::silent(server);
        client.send(&[PREFACE, &frame(SETTINGS, 0, 0, &[])].concat());
        client
    }

    /// Connects and says nothing.
    pub(crate) fn silent(server: &Handle) -> Self {
        let stream = TcpStream::connect(server.tcp_address().unwrap()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            decoder: Decoder::new(DEFAULT_TABLE_SIZE),
            next_stream: 1,
            shows_all: false,
            opens_windows: true,
            was_cut: false,
            kept: VecDeque::new(),
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends as much as the server takes.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) {
        let sent = self.stream.write_all(bytes);
        self.was_cut |= sent.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset);
    }

    /// Sends a request without a body and returns its stream.
    pub(crate) fn request(&mut self, method: &str, path: &str) -> u32 {
        self.request_with(method, path, &[], true)
    }

    pub(crate) fn request_with(
        &mut self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        is_end: bool,
    ) -> u32 {
        let stream = self.next_stream;
        self.next_stream += 2;
        let bytes = headers(stream, method, path, fields, is_end);
        self.send(&bytes);
        stream
    }

    pub(crate) fn data(&mut self, stream: u32, bytes: &[u8], is_end: bool) {
        self.send(&frame(DATA, if is_end { END_STREAM } else { 0 }, stream, bytes));
    }

    pub(crate) fn reset(&mut self, stream: u32, code: u32) {
        self.send(&frame(RST_STREAM, 0, stream, &code.to_be_bytes()));
    }

    pub(crate) fn settings(&mut self, settings: &[(u16, u32)]) {
        self.send(&frame(SETTINGS, 0, 0, &settings_payload(settings)));
    }

    pub(crate) fn open_window(&mut self, stream: u32, increment: u32) {
        self.send(&frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes()));
    }

    pub(crate) fn get(&mut self, path: &str) -> Reply {
        let stream = self.request("GET", path);
        self.reply(stream)
    }

    /// The whole reply on this stream; interim ones before it are left out.
    pub(crate) fn reply(&mut self, stream: u32) -> Reply {
        let mut reply = Reply::default();
        let mut others = VecDeque::new();
        loop {
            let event = self.event();
            let is_end = match &event {
                Event::Head { stream: on, status, .. } if *on == stream && *status < 200 => continue,
                Event::Head { stream: on, status, fields, is_end } if *on == stream => {
                    reply.status = *status;
                    reply.fields.clone_from(fields);
                    *is_end
                }
                Event::Data { stream: on, bytes, is_end } if *on == stream => {
                    reply.body.extend_from_slice(bytes);
                    *is_end
                }
                Event::Trailers { stream: on, fields } if *on == stream => {
                    reply.trailers.clone_from(fields);
                    true
                }
                Event::Reset { stream: on, .. } if *on == stream => panic!("{event:?} after {reply:?}"),
                Event::Closed | Event::Cut | Event::Garbage(_) => panic!("{event:?} after {reply:?}"),
                _ => {
                    others.push_back(event);
                    false
                }
            };
            if is_end {
                others.append(&mut self.kept);
                self.kept = others;
                return reply;
            }
        }
    }

    /// All that comes until the connection ends.
    pub(crate) fn until_end(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let event = self.event();
            let is_last = matches!(event, Event::Closed | Event::Cut);
            events.push(event);
            if is_last {
                return events;
            }
        }
    }

    /// Whether nothing comes for so long. For a client that has seen all it asked for.
    pub(crate) fn is_silent_for(&mut self, wait: Duration) -> bool {
        self.stream.set_read_timeout(Some(wait)).unwrap();
        let silent = self.stream.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        silent
    }

    /// Reads for as long as something comes, but not for ever.
    pub(crate) fn read_some(&mut self) {
        self.stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        drop((&self.stream).take(1 << 20).read_to_end(&mut Vec::new()));
    }

    /// Reads bytes that are no frames.
    pub(crate) fn take(&mut self, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// What comes next. Settings and pings are answered.
    pub(crate) fn event(&mut self) -> Event {
        if let Some(event) = self.kept.pop_front() {
            return event;
        }
        loop {
            match self.next() {
                Ok(Some(event)) => return event,
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset || self.was_cut => {
                    return Event::Cut;
                }
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Event::Closed,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// `None` if it is not to be shown.
    fn next(&mut self) -> io::Result<Option<Event>> {
        let mut header = [0; 9];
        self.stream.read_exact(&mut header)?;
        let [a, b, c, kind, flags, stream @ ..] = header;
        let size = u32::from_be_bytes([0, a, b, c]) as usize;
        let stream = u32::from_be_bytes(stream);
        if size > 16_384 {
            let mut bytes = header.to_vec();
            self.stream.read_to_end(&mut bytes)?;
            return Ok(Some(Event::Garbage(bytes)));
        }
        let mut payload = vec![0; size];
        self.stream.read_exact(&mut payload)?;
        let number = |from: usize| u32::from_be_bytes(payload[from..from + 4].try_into().unwrap());
        let is_end = flags & END_STREAM != 0;
        let shown = match kind {
            DATA => {
                if self.opens_windows && size > 0 {
                    for of in [0, stream] {
                        self.try_send(&frame(
                            WINDOW_UPDATE,
                            0,
                            of,
                            &u32::try_from(size).unwrap().to_be_bytes(),
                        ));
                    }
                }
                Some(Event::Data { stream, bytes: payload, is_end })
            }
            HEADERS => {
                let block = self.block(payload, flags)?;
                Some(self.head(stream, &block, is_end))
            }
            RST_STREAM => Some(Event::Reset { stream, code: number(0) }),
            SETTINGS if flags & ACK != 0 => self.shows_all.then_some(Event::SettingsAcknowledged),
            SETTINGS => {
                self.try_send(&frame(SETTINGS, ACK, 0, &[]));
                let setting = |at: &[u8]| {
                    (u16::from_be_bytes([at[0], at[1]]), u32::from_be_bytes([at[2], at[3], at[4], at[5]]))
                };
                self.shows_all.then(|| Event::Settings(payload.chunks(6).map(setting).collect()))
            }
            PING => {
                if flags & ACK == 0 {
                    self.try_send(&frame(PING, ACK, 0, &payload));
                }
                None
            }
            GOAWAY => Some(Event::Goaway { last: number(0), code: number(4) }),
            WINDOW_UPDATE => self.shows_all.then(|| Event::Window { stream, increment: number(0) }),
            _ => panic!("a frame of type {kind}"),
        };
        Ok(shown)
    }

    /// A header block that begins like this.
    fn block(&mut self, mut block: Vec<u8>, mut flags: u8) -> io::Result<Vec<u8>> {
        while flags & END_HEADERS == 0 {
            let mut header = [0; 9];
            self.stream.read_exact(&mut header)?;
            assert_eq!(header[3], CONTINUATION);
            flags = header[4];
            let mut more = vec![0; u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize];
            self.stream.read_exact(&mut more)?;
            block.append(&mut more);
        }
        Ok(block)
    }

    fn head(&mut self, stream: u32, block: &[u8], is_end: bool) -> Event {
        let mut fields = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        self.decoder.decode(block, 1 << 24, |name, value| fields.push((text(name), text(value)))).unwrap();
        if fields.first().is_some_and(|(name, _)| name == ":status") {
            let (_, status) = fields.remove(0);
            return Event::Head { stream, status: status.parse().unwrap(), fields, is_end };
        }
        assert!(is_end, "trailers do not end their stream");
        Event::Trailers { stream, fields }
    }
}

pub(crate) fn settings_payload(settings: &[(u16, u32)]) -> Vec<u8> {
    let bytes = settings.iter().map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat());
    bytes.collect::<Vec<_>>().concat()
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let size = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&size[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A HEADERS frame that does not change the table, with CONTINUATION frames if it is large.
pub(crate) fn headers(
    stream: u32,
    method: &str,
    path: &str,
    fields: &[(&str, &str)],
    is_end: bool,
) -> Vec<u8> {
    let pseudo = [(":method", method), (":scheme", "http"), (":authority", "x"), (":path", path)];
    let mut block = Vec::new();
    let mut encoder = Encoder::new(DEFAULT_TABLE_SIZE);
    for (name, value) in pseudo.iter().chain(fields) {
        encoder.encode(name.as_bytes(), value.as_bytes(), Indexing::Without, &mut block);
    }
    let end_stream = if is_end { END_STREAM } else { 0 };
    let count = block.chunks(16_384).count();
    let frames = block.chunks(16_384).zip(1..).map(|(part, index)| {
        let end_headers = if index == count { END_HEADERS } else { 0 };
        match index {
            1 => frame(HEADERS, end_stream | end_headers, stream, part),
            _ => frame(CONTINUATION, end_headers, stream, part),
        }
    });
    frames.collect::<Vec<_>>().concat()
}

//! Sequences of frames of a server, valid or not.

use httperf_proto::http2::hpack::{Encoder, Indexing};

use super::{Reply, frames};

/// Bytes of a server. Nothing is validated.
#[derive(Debug)]
pub struct Script {
    encoder: Encoder,
    bytes: Vec<u8>,
}

impl Default for Script {
    fn default() -> Self {
        Self::new()
    }
}

impl Script {
    /// Creates an empty script.
    #[must_use]
    pub fn new() -> Self {
        Self { encoder: Encoder::new(4096), bytes: Vec::new() }
    }

    /// Bytes of the script.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends these bytes.
    #[must_use]
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends these bytes `count` times.
    #[must_use]
    pub fn repeated(self, count: usize, bytes: &[u8]) -> Self {
        self.raw(&bytes.repeat(count))
    }

    /// Appends any frame.
    #[must_use]
    pub fn frame(self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Self {
        self.raw(&frames::frame(kind, flags, stream, payload))
    }

    /// Appends SETTINGS.
    #[must_use]
    pub fn settings(self, settings: &[(u16, u32)]) -> Self {
        self.raw(&frames::settings(settings))
    }

    /// Appends an acknowledgement of SETTINGS.
    #[must_use]
    pub fn ack(self) -> Self {
        self.raw(&frames::settings_ack())
    }

    /// Appends a header block.
    #[must_use]
    pub fn head(mut self, stream: u32, fields: &[(&str, &str)], end_stream: bool) -> Self {
        let block = self.block(fields);
        self.raw(&frames::headers(stream, &block, end_stream))
    }

    /// Appends a header block in pieces of this size.
    #[must_use]
    pub fn head_in_pieces(
        mut self,
        stream: u32,
        fields: &[(&str, &str)],
        size: usize,
        end_stream: bool,
    ) -> Self {
        let block = self.block(fields);
        self.raw(&frames::headers_in_pieces(stream, &block, size, end_stream))
    }

    /// Appends DATA.
    #[must_use]
    pub fn data(self, stream: u32, body: &[u8], end_stream: bool) -> Self {
        self.raw(&frames::data(stream, body, end_stream))
    }

    /// Appends a complete reply.
    #[must_use]
    pub fn reply(mut self, stream: u32, reply: &Reply) -> Self {
        for status in &reply.interim {
            self = self.head(stream, &[(":status", &status.to_string())], false);
        }
        let status = reply.status.to_string();
        let mut fields = vec![(":status", status.as_str())];
        fields.extend(reply.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let has_trailers = !reply.trailers.is_empty();
        self = self.head(stream, &fields, reply.body.is_empty() && !has_trailers);
        let pieces: Vec<&[u8]> = reply.body.chunks(reply.piece).collect();
        for (place, piece) in pieces.iter().enumerate() {
            let end_stream = place + 1 == pieces.len() && !has_trailers;
            self = self.raw(&match reply.padding {
                Some(padding) => frames::padded_data(stream, piece, padding, end_stream),
                None => frames::data(stream, piece, end_stream),
            });
        }
        if has_trailers {
            let trailers: Vec<_> =
                reply.trailers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            self = self.head(stream, &trailers, true);
        }
        self
    }

    /// Appends RST_STREAM.
    #[must_use]
    pub fn reset(self, stream: u32, code: u32) -> Self {
        self.raw(&frames::reset(stream, code))
    }

    /// Appends GOAWAY.
    #[must_use]
    pub fn goaway(self, last_stream: u32, code: u32) -> Self {
        self.raw(&frames::goaway(last_stream, code))
    }

    /// Appends WINDOW_UPDATE.
    #[must_use]
    pub fn window_update(self, stream: u32, increment: u32) -> Self {
        self.raw(&frames::window_update(stream, increment))
    }

    /// Appends PING.
    #[must_use]
    pub fn ping(self, data: [u8; 8]) -> Self {
        self.raw(&frames::ping(data))
    }

    /// Encodes these fields as a header block, which must be sent before the next one is encoded.
    pub fn block(&mut self, fields: &[(&str, &str)]) -> Vec<u8> {
        let mut block = Vec::new();
        self.encoder.begin_block(&mut block);
        for (name, value) in fields {
            self.encoder.encode(name.as_bytes(), value.as_bytes(), Indexing::Incremental, &mut block);
        }
        block
    }
}

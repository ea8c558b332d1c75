//! From calls to frames.

use std::time::Duration;

use bytes::Buf as _;

use super::call::{Call, Reply, Upload, Waiting};
use super::engine::{Engine, OwnStreams, Phase};
use super::frame::{Data, Headers, Settings};
use super::qpack::{begin_section, encode_field};
use super::uni::StreamType;
use crate::quic::{StreamId, Written};
use crate::request::{Http3Form, Request, Scheme};
use crate::{Awaited, Sent};

impl Engine {
    /// Hands QUIC all that it takes, up to the first request that `may` not be sent.
    pub(super) fn fill(&mut self, may: impl Fn(&Request) -> bool) {
        if !self.quic.is_established() {
            self.pump();
        }
        // If early data was refused, the owner must know before the requests are sent again.
        if !self.progress.is_empty() {
            return;
        }
        if !self.quic.is_open() || self.phase == Phase::Closed {
            return;
        }
        self.send_own();
        let is_early = !self.quic.is_established();
        while let Some(waiting) = self.waiting.front()
            && self.phase == Phase::Open
        {
            if !may(&waiting.request) || is_early && !waiting.request.is_safe() {
                break;
            }
            let Some(id) = self.supply.next.take().or_else(|| self.quic.open_request()) else {
                self.supply.has_room = false;
                self.note_stalled();
                break;
            };
            self.supply.next = self.quic.open_request();
            self.supply.has_room = self.supply.next.is_some();
            if let Some(Waiting { call, request, since }) = self.waiting.pop_front() {
                if let Some(since) = since {
                    self.news.add_stall(call, Awaited::Stream, self.now - since);
                }
                self.open_call(id, call, request);
            }
        }
        for _ in 0..self.uploads.len() {
            if let Some(number) = self.uploads.pop_front() {
                self.upload(number);
            }
        }
    }

    /// The peer allows no more streams: notes since when calls wait for one.
    fn note_stalled(&mut self) {
        // The others have been noted before.
        for waiting in self.waiting.iter_mut().rev() {
            if waiting.since.is_some() {
                break;
            }
            waiting.since = Some(self.now);
        }
    }

    fn open_call(&mut self, id: StreamId, call: crate::CallId, request: Request) {
        debug_assert_eq!(self.calls.next(), id.index(), "calls have all streams that we open for both ends");
        let number = id.index();
        let form = request.http3_form(|| render(&request));
        self.news.counts.headers_sent.add(form.plain, form.size);
        let upload = Upload::Going { frames: form.frames.clone(), body: form.body.clone() };
        let reader = self.reader();
        self.calls.push(Call {
            call,
            request,
            id,
            upload,
            reader: Some(reader),
            reply: Reply::Head { interim: 0 },
            held: None,
            blocked_since: None,
            window_wait: Duration::ZERO,
        });
        let open = self.calls.len() as u64;
        self.news.counts.add_stream(open);
        self.early += u64::from(!self.quic.is_established());
        self.sent.push_back(Sent::Started(call));
        self.upload(number);
    }

    /// Sends more of a request, as far as the windows allow.
    fn upload(&mut self, number: u64) {
        let Some(call) = self.calls.get_mut(number) else { return };
        loop {
            let Upload::Going { frames, body } = &mut call.upload else { return };
            let rest = if frames.is_empty() { body } else { frames };
            if rest.is_empty() {
                self.quic.finish(call.id);
                self.sent.push_back(Sent::Finished(call.call));
                call.upload = Upload::Done;
                return;
            }
            match self.quic.write_shared(call.id, rest) {
                Written::Stopped => {
                    // The reply may come all the same (RFC 9114, section 4.1).
                    call.upload = Upload::Done;
                    call.end_wait(self.now);
                    return;
                }
                Written::Bytes(0) => {
                    call.blocked_since.get_or_insert(self.now);
                    return;
                }
                Written::Bytes(count) => {
                    rest.advance(count);
                    call.end_wait(self.now);
                }
            }
        }
    }

    /// Opens the streams that we alone send on, and sends what they take.
    fn send_own(&mut self) {
        let own = &mut self.own;
        if own.control.is_none()
            && let Some(id) = self.quic.open_own()
        {
            own.control = Some(id);
            StreamType::Control.write(&mut own.control_bytes);
            Settings::write(&self.options.parameters(), &mut own.control_bytes);
        }
        let decoder = self.sections.decoder();
        if decoder.has_instructions() {
            if own.decoder.is_none()
                && let Some(id) = self.quic.open_own()
            {
                own.decoder = Some(id);
                StreamType::Decoder.write(&mut own.decoder_bytes);
            }
            if own.decoder.is_some() {
                decoder.take_instructions(&mut own.decoder_bytes);
            }
        }
        for (id, bytes) in [(own.control, &mut own.control_bytes), (own.decoder, &mut own.decoder_bytes)] {
            if let Some(id) = id
                && !bytes.is_empty()
                && let Written::Bytes(count) = self.quic.write(id, bytes)
            {
                bytes.drain(..count);
            }
        }
    }

    /// Returns whether datagrams may be due.
    #[must_use]
    pub fn wants_write(&self) -> bool {
        let can_open = !self.waiting.is_empty() && self.supply.has_room && self.phase == Phase::Open;
        self.quic.is_due() || self.quic.is_open() && (can_open || !self.uploads.is_empty())
    }

    /// The server refused early data: its streams do not exist, and all requests are to be sent again.
    pub(super) fn restart(&mut self) {
        let calls = std::mem::replace(&mut self.calls, crate::numbered::Numbered::new());
        let open = calls.iter().map(|(_, call)| Waiting {
            call: call.call,
            request: call.request.clone(),
            since: None,
        });
        let waiting: Vec<Waiting> = open.collect();
        waiting.into_iter().rev().for_each(|waiting| self.waiting.push_front(waiting));
        (self.supply.next, self.supply.has_room) = (None, true);
        self.uploads.clear();
        self.sent.clear();
        self.own = OwnStreams::default();
        // It would be about streams that do not exist.
        self.sections.decoder().take_instructions(&mut Vec::new());
    }
}

fn render(request: &Request) -> Http3Form {
    let (mut section, mut plain) = (Vec::new(), 0);
    begin_section(&mut section);
    request.binary_fields(Scheme::Https, |name, value| {
        plain += (name.len() + value.len()) as u64;
        encode_field(name, value, &mut section);
    });
    let mut frames = Vec::with_capacity(section.len() + 16);
    Headers { section: &section }.write(&mut frames);
    if !request.body().is_empty() {
        Data { length: request.body().len() as u64 }.write(&mut frames);
    }
    let (own, body) = request.body_parts();
    frames.extend_from_slice(own);
    Http3Form { frames: frames.into(), body, plain, size: section.len() }
}

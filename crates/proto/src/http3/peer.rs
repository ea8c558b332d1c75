//! The streams that the peer opens: its control stream, those of header compression, and others that may be ignored.

use super::PeerSettings;
use super::engine::{Engine, Phase};
use super::error::{ErrorCode, Violation};
use super::frame::{Frame, GoAway, Limits, Piece, Place, Reader, Settings};
use super::qpack::DecoderStream;
use super::receiving::is_fault;
use super::uni::{StreamType, TypeReader};
use crate::Event;
use crate::counts::count_code;
use crate::quic::StreamId;

/// A stream that the peer alone sends on.
#[derive(Debug)]
pub(super) struct PeerStream {
    pub(super) id: StreamId,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Its type has not arrived.
    New(TypeReader),
    Control(Box<Reader>),
    /// Instructions for our table of header compression.
    Encoder,
    /// What the peer says of the table that we do not use.
    Decoder(DecoderStream),
    /// One that is read no further.
    Ignored,
}

impl PeerStream {
    pub(super) fn new(id: StreamId) -> Self {
        Self { id, kind: Kind::New(TypeReader::default()) }
    }

    /// Returns whether the connection cannot do without it (RFC 9114, section 6.2.1; RFC 9204, section 4.2).
    fn is_critical(&self) -> bool {
        matches!(self.kind, Kind::Control(_) | Kind::Encoder | Kind::Decoder(_))
    }
}

impl Engine {
    /// The peer ended a stream, or gave it up.
    pub(super) fn end_peer_stream(&mut self, id: StreamId) {
        let Some(place) = self.peer.streams.iter().position(|stream| stream.id == id) else { return };
        let stream = self.peer.streams.swap_remove(place);
        if stream.is_critical() {
            let reason = "a server that ends a stream which the connection needs";
            self.fail(Violation::of_connection(ErrorCode::H3_CLOSED_CRITICAL_STREAM, reason));
        } else if matches!(stream.kind, Kind::New(_))
            && let Err(violation) = self.count_unknown_stream()
        {
            self.fail(violation);
        }
    }

    /// Uses bytes of a stream that the peer alone sends on.
    pub(super) fn use_peer_bytes(&mut self, id: StreamId, bytes: &[u8]) -> Result<(), Violation> {
        let Some(place) = self.peer.streams.iter().position(|stream| stream.id == id) else { return Ok(()) };
        let mut input = bytes;
        while !input.is_empty() {
            // Taken out, so that all else is at hand.
            let mut kind = std::mem::replace(&mut self.peer.streams[place].kind, Kind::Ignored);
            match &mut kind {
                Kind::New(reader) => {
                    if let Some(found) = reader.read(&mut input) {
                        kind = self.begin_peer_stream(id, found)?;
                    }
                }
                Kind::Control(reader) => self.read_control(reader, &mut input)?,
                Kind::Encoder => {
                    let decoder = self.sections.decoder();
                    let before = decoder.instruction_count();
                    decoder.handle_encoder_stream(input)?;
                    let count = decoder.instruction_count() - before;
                    self.count_idle_frames(count)?;
                    input = &[];
                    self.unblock();
                }
                Kind::Decoder(reader) => {
                    let before = reader.cancellations();
                    reader.handle_bytes(input)?;
                    self.count_idle_frames(reader.cancellations() - before)?;
                    input = &[];
                }
                Kind::Ignored => input = &[],
            }
            self.peer.streams[place].kind = kind;
        }
        Ok(())
    }

    fn begin_peer_stream(&mut self, id: StreamId, found: StreamType) -> Result<Kind, Violation> {
        let kind = match found {
            StreamType::Control => {
                let limits = Limits {
                    section_size: self.options.limits.reply.head_size,
                    payload_size: self.options.limits.control_frame,
                };
                Kind::Control(Box::new(Reader::new(Place::Control, limits)))
            }
            StreamType::Encoder => Kind::Encoder,
            StreamType::Decoder => Kind::Decoder(DecoderStream::default()),
            // We have allowed none (RFC 9114, section 4.6).
            StreamType::Push => {
                return Err(Violation::of_connection(ErrorCode::H3_ID_ERROR, "a push that was not allowed"));
            }
            StreamType::Unknown(_) => {
                self.count_unknown_stream()?;
                self.quic.stop(id, ErrorCode::H3_STREAM_CREATION_ERROR.0);
                return Ok(Kind::Ignored);
            }
        };
        if self.peer.opened.contains(&found) {
            return Err(Violation::of_connection(
                ErrorCode::H3_STREAM_CREATION_ERROR,
                "a second stream of a type of which there is one",
            ));
        }
        self.peer.opened.push(found);
        Ok(kind)
    }

    /// Counts a stream that means nothing to us.
    fn count_unknown_stream(&mut self) -> Result<(), Violation> {
        self.peer.unknown_streams += 1;
        if self.peer.unknown_streams > self.options.limits.unknown_streams {
            let reason = "too many streams of unknown types";
            return Err(Violation::of_connection(ErrorCode::H3_EXCESSIVE_LOAD, reason));
        }
        Ok(())
    }

    fn read_control(&mut self, reader: &mut Reader, input: &mut &[u8]) -> Result<(), Violation> {
        while let Some(piece) = reader.poll(input)? {
            match piece {
                Piece::Frame(Frame::Settings(settings)) => self.handle_settings(settings),
                Piece::Frame(Frame::GoAway(goaway)) => self.handle_goaway(goaway)?,
                Piece::Frame(Frame::Ignored) => {}
                Piece::Frame(Frame::Headers(_)) | Piece::DataStart(_) | Piece::Data(_) => {
                    unreachable!("the reader knows which frames a control stream has")
                }
                Piece::Frame(Frame::CancelPush(none)) => match none {},
                Piece::Frame(Frame::PushPromise(none)) => match none {},
            }
            self.count_idle()?;
        }
        Ok(())
    }

    fn handle_settings(&mut self, settings: Settings<'_>) {
        let mut peer = PeerSettings::default();
        settings.parameters().for_each(|parameter| peer.apply(parameter));
        self.peer.settings = Some(peer);
    }

    fn handle_goaway(&mut self, goaway: GoAway) -> Result<(), Violation> {
        if self.peer.goaway.is_some_and(|before| goaway.id > before) {
            return Err(Violation::of_connection(
                ErrorCode::H3_ID_ERROR,
                "a GOAWAY frame that takes back an earlier one",
            ));
        }
        self.peer.goaway = Some(goaway.id);
        count_code(&mut self.news.counts.goaways, ErrorCode::H3_NO_ERROR);
        if self.loss.as_ref().is_some_and(is_fault) {
            // The server ends the connection for an error, as is known already: its calls fail with it.
            return Ok(());
        }
        let was_open = self.phase == Phase::Open;
        self.phase = Phase::Draining;
        self.return_from(goaway.id / 4);
        if was_open {
            self.news.events.push_back(Event::Draining);
        }
        self.announce_end();
        Ok(())
    }
}

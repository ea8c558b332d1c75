//! Streams of server-sent events: replies whose pieces leave at instants of their own.
//!
//! A [`Script`](script::Script) says what a stream consists of and when each piece is due; it is part of an answer,
//! without clock and socket. [`Pieces`](pieces::Pieces) carries it out: the body of a reply (`body.rs`) hands its
//! pieces to whichever protocol is spoken.
//!
//! # Time
//!
//! Time counts from the header of the reply. A write is due at the first delay plus the gaps before it, all drawn from
//! the stream's own random numbers: a late write delays none of the others. Each piece leaves in a write of its own,
//! even if the next one is due already: a chunk of HTTP/1.1, or a DATA frame.
//!
//! Each event says when it was due (`due_ns`) and when it left (`sent_ns`), in nanoseconds of Unix time. `sent_ns` is a
//! reading of the system's real-time clock right before the bytes are formatted and handed over: over HTTP/1, to a
//! library that writes them to the socket in the same call; over HTTP/2 and HTTP/3, to one that writes them when its
//! task runs next in the same turn of the loop. A client whose windows are shut gets them later than they say. `due_ns`
//! comes from the monotonic clock and one reading of the real-time clock at the header; a step of the latter shows as a
//! difference of the two.

mod events;
pub(crate) mod pieces;
mod schedule;
pub(crate) mod script;
pub(crate) mod settings;

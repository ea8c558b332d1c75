//! HTTP/2 on one connection, from its preface to its end.
//!
//! The h2 crate implements the protocol. It reads and writes through a [`Pipe`], which counts frames as they pass and
//! inserts bytes that h2 would not write. Each request is a task of its own (`stream.rs`), which leaves orders for the
//! connection at a [`Desk`].

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use h2::server::Connection;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

use super::desk::{Desk, End};
use super::frames::PREFACE;
use super::pipe::{Access, Pipe};
use super::stream;
use crate::fault::GARBAGE;
use crate::link::Link;
use crate::wire::{Wire, within};

/// Finds out whether the connection speaks HTTP/2: from ALPN, or without TLS from its first bytes. `None` if it ends
/// before that is clear.
pub(crate) async fn is_wanted(wire: &mut Wire, link: &Link) -> Option<bool> {
    if link.shared.config.http2.is_none() {
        return Some(false);
    }
    if let Some(chosen) = wire.has_chosen_http2() {
        return Some(chosen);
    }
    let mut first = BytesMut::with_capacity(FIRST_READ_SIZE);
    let wanted = loop {
        let size = wire.read_buf(&mut first).await.ok()?;
        let compared = first.len().min(PREFACE.len());
        if first[..compared] != PREFACE[..compared] || size == 0 {
            break false;
        }
        if compared == PREFACE.len() {
            break true;
        }
    };
    wire.put_back(first.freeze());
    Some(wanted)
}

/// The size of a connection's first read: enough for a usual request, or the first frames of HTTP/2.
const FIRST_READ_SIZE: usize = 2048;

/// Speaks HTTP/2 until the connection is over.
pub(crate) async fn serve(wire: Wire, link: &Rc<Link>) {
    let Some(http2) = link.shared.config.http2 else { return };
    link.shared.counts.borrow_mut().connections_http2 += 1;
    let pipe = Rc::new(RefCell::new(Pipe::new(wire, Rc::clone(link))));
    let handshake = http2.builder().handshake(Access(Rc::clone(&pipe))).await;
    let end = match handshake {
        Ok(connection) => drive(connection, &pipe, link).await,
        Err(error) => {
            count_if_malformed(&error, link);
            End::Over
        }
    };
    let pipe = Rc::into_inner(pipe).expect("h2 is gone, and nobody else had the pipe");
    let mut wire = pipe.into_inner().into_wire();
    let linger = link.shared.config.limits.linger;
    match end {
        End::Over | End::Close => within(linger, wire.close()).await,
        End::Reset => wire.reset(),
        End::Silence => {
            let _waiting = link.prepare();
            wire.discard().await;
        }
        End::Garbage => {
            if wire.write_all(GARBAGE).await.is_ok() {
                within(linger, wire.close()).await;
            }
        }
    }
}

/// Lets h2 serve the connection until it is over, or has to end in a way that h2 does not support.
async fn drive(mut connection: Connection<Access, Bytes>, pipe: &RefCell<Pipe>, link: &Rc<Link>) -> End {
    let desk = Rc::new(Desk::new(Rc::clone(link)));
    let mut streams = JoinSet::new();
    poll_fn(|context| {
        desk.attend(context);
        loop {
            desk.instruct(&mut connection);
            match connection.poll_accept(context) {
                Poll::Ready(Some(Ok((request, respond)))) => {
                    streams.spawn_local(stream::answer(request, respond, Rc::clone(&desk)));
                }
                Poll::Ready(Some(Err(error))) => {
                    count_if_malformed(&error, link);
                    return Poll::Ready(End::Over);
                }
                Poll::Ready(None) => return Poll::Ready(End::Over),
                Poll::Pending => break,
            }
        }
        while streams.try_join_next().is_some() {}
        poll_between_frames(context, pipe, &desk)
    })
    .await
}

/// Uses the wire between two frames. When h2 waits, it has tried to write all it may send; unless the socket refused
/// some, the next byte would begin a frame.
fn poll_between_frames(context: &mut Context<'_>, pipe: &RefCell<Pipe>, desk: &Desk) -> Poll<End> {
    if desk.link.is_write_blocked() {
        return Poll::Pending;
    }
    let mut pipe = pipe.borrow_mut();
    pipe.insert(desk.take_foreign());
    // It fails with the socket, and then so will h2.
    if pipe.poll_insert(context).is_pending() {
        return Poll::Pending;
    }
    if pipe.take_new_settings() {
        desk.note_new_settings();
    }
    desk.note_flushed();
    match desk.end() {
        Some(end) => Poll::Ready(end),
        None => Poll::Pending,
    }
}

/// Counts a connection that h2 ends for an error of the client.
fn count_if_malformed(error: &h2::Error, link: &Link) {
    if error.is_library() && !error.is_io() {
        link.shared.counts.borrow_mut().requests_malformed += 1;
    }
}

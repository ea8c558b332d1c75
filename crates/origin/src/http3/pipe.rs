//! A QUIC connection as h3 uses it: bytes are counted as they pass, and the server can reach below h3, to write what h3 would
//! not, to reset streams, and to learn that a client gave up.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use quinn::{ConnectionError, ReadError, StoppedError, VarInt, WriteError};

use crate::link::Link;

/// A QUIC connection for h3.
pub(super) struct Pipe {
    streams: Streams,
    requests: Awaited<(quinn::SendStream, quinn::RecvStream)>,
    others: Awaited<quinn::RecvStream>,
    gate: Rc<Gate>,
}

/// The gate through which requests reach h3.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// The sending side of the newest request.
    newest: RefCell<Option<SendHandle>>,
    /// The first stream that is rejected.
    end: Cell<Option<StreamId>>,
}

impl Gate {
    /// Returns the sending side of the request that h3 has accepted last.
    pub(super) fn newest(&self) -> Option<SendHandle> {
        self.newest.borrow().clone()
    }

    /// Rejects all requests from now on. The next one is that which h3 names in a GOAWAY.
    pub(super) fn close(&self) {
        self.end.set(self.newest().map(|newest| newest.id() + 1));
    }
}

impl Pipe {
    /// Wraps a connection.
    pub(super) fn new(connection: quinn::Connection, link: Rc<Link>) -> Self {
        Self {
            streams: Streams { connection, link, opened: Awaited::default() },
            requests: Awaited::default(),
            others: Awaited::default(),
            gate: Rc::default(),
        }
    }

    pub(super) fn gate(&self) -> Rc<Gate> {
        Rc::clone(&self.gate)
    }
}

/// A future that is kept from one poll to the next.
struct Awaited<T>(Option<Pin<Box<dyn Pending<T>>>>);

/// The future of a stream.
trait Pending<T>: Future<Output = Result<T, ConnectionError>> {}

impl<T, F: Future<Output = Result<T, ConnectionError>>> Pending<T> for F {}

impl<T> Default for Awaited<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Awaited<T> {
    fn poll<F>(
        &mut self,
        context: &mut Context<'_>,
        begin: impl FnOnce() -> F,
    ) -> Poll<Result<T, ConnectionError>>
    where
        F: Future<Output = Result<T, ConnectionError>> + 'static,
    {
        let future = self.0.get_or_insert_with(|| Box::pin(begin()));
        let result = ready!(future.as_mut().poll(context));
        self.0 = None;
        Poll::Ready(result)
    }
}

impl quic::Connection<Bytes> for Pipe {
    type RecvStream = Receiver;
    type OpenStreams = Streams;

    fn poll_accept_recv(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Receiver, ConnectionErrorIncoming>> {
        let connection = &self.streams.connection;
        let stream = ready!(self.others.poll(context, || {
            let connection = connection.clone();
            async move { connection.accept_uni().await }
        }));
        Poll::Ready(stream.map(|stream| self.streams.receiver(stream)).map_err(lost))
    }

    fn poll_accept_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Bidirectional, ConnectionErrorIncoming>> {
        loop {
            let connection = &self.streams.connection;
            let streams = ready!(self.requests.poll(context, || {
                let connection = connection.clone();
                async move { connection.accept_bi().await }
            }));
            let (send, receive) = streams.map_err(lost)?;
            let mut stream =
                Bidirectional { sender: self.streams.sender(send), receiver: self.streams.receiver(receive) };
            if self.gate.end.get().is_some_and(|end| stream.sender.id >= end) {
                quic::RecvStream::stop_sending(&mut stream, Code::H3_REQUEST_REJECTED.value());
                quic::SendStream::reset(&mut stream, Code::H3_REQUEST_REJECTED.value());
                continue;
            }
            self.gate.newest.replace(Some(stream.sender.handle.clone()));
            return Poll::Ready(Ok(stream));
        }
    }

    fn opener(&self) -> Streams {
        self.streams.clone()
    }
}

impl quic::OpenStreams<Bytes> for Pipe {
    type BidiStream = Bidirectional;
    type SendStream = Sender;

    fn poll_open_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Bidirectional, StreamErrorIncoming>> {
        self.streams.poll_open_bidi(context)
    }

    fn poll_open_send(&mut self, context: &mut Context<'_>) -> Poll<Result<Sender, StreamErrorIncoming>> {
        self.streams.poll_open_send(context)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.streams.close(code, reason);
    }
}

/// A source of streams that the server opens.
pub(super) struct Streams {
    connection: quinn::Connection,
    link: Rc<Link>,
    opened: Awaited<quinn::SendStream>,
}

impl Clone for Streams {
    fn clone(&self) -> Self {
        Self { connection: self.connection.clone(), link: Rc::clone(&self.link), opened: Awaited::default() }
    }
}

impl Streams {
    fn sender(&self, stream: quinn::SendStream) -> Sender {
        let id = stream_id(stream.id());
        Sender {
            handle: SendHandle(Rc::new(RefCell::new(stream))),
            id,
            unsent: None,
            link: Rc::clone(&self.link),
        }
    }

    fn receiver(&self, stream: quinn::RecvStream) -> Receiver {
        Receiver { stream, link: Rc::clone(&self.link) }
    }
}

impl quic::OpenStreams<Bytes> for Streams {
    type BidiStream = Bidirectional;
    type SendStream = Sender;

    /// Fails: only clients open such streams.
    fn poll_open_bidi(&mut self, _: &mut Context<'_>) -> Poll<Result<Bidirectional, StreamErrorIncoming>> {
        Poll::Ready(Err(StreamErrorIncoming::Unknown("a server opens no bidirectional streams".into())))
    }

    fn poll_open_send(&mut self, context: &mut Context<'_>) -> Poll<Result<Sender, StreamErrorIncoming>> {
        let connection = &self.connection;
        let stream = ready!(self.opened.poll(context, || {
            let connection = connection.clone();
            async move { connection.open_uni().await }
        }));
        Poll::Ready(stream.map(|stream| self.sender(stream)).map_err(lost_stream))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(var_int(code), reason);
    }
}

/// The sending side of a stream, which h3 and the server share.
#[derive(Clone, Debug)]
pub(super) struct SendHandle(Rc<RefCell<quinn::SendStream>>);

impl SendHandle {
    /// Returns the number of the stream.
    pub(super) fn id(&self) -> StreamId {
        stream_id(self.0.borrow().id())
    }

    /// Awaits the end of the stream for the client: it has acknowledged all, or asked to stop, or is gone.
    pub(super) fn over(&self) -> impl Future<Output = Result<Option<VarInt>, StoppedError>> + use<> {
        self.0.borrow().stopped()
    }

    /// Resets the stream; bytes that are not sent yet are discarded.
    pub(super) fn reset(&self, code: Code) {
        // This fails if the stream has ended, and then the client has all of it.
        let _: Result<(), quinn::ClosedStream> = self.0.borrow_mut().reset(var_int(code));
    }

    /// Writes bytes that h3 would not write, and ends the stream.
    pub(super) async fn write_last(&self, bytes: &[u8]) -> Result<(), WriteError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let size =
                std::future::poll_fn(|context| Pin::new(&mut *self.0.borrow_mut()).poll_write(context, rest));
            rest = &rest[size.await?..];
        }
        // This fails only if it has ended already.
        let _: Result<(), quinn::ClosedStream> = self.0.borrow_mut().finish();
        Ok(())
    }
}

/// The sending side of a stream as h3 uses it.
pub(super) struct Sender {
    handle: SendHandle,
    id: StreamId,
    unsent: Option<WriteBuf<Bytes>>,
    link: Rc<Link>,
}

impl quic::SendStream<Bytes> for Sender {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        let Some(unsent) = &mut self.unsent else { return Poll::Ready(Ok(())) };
        while unsent.has_remaining() {
            self.link.note_reply();
            let mut stream = self.handle.0.borrow_mut();
            let poll = Pin::new(&mut *stream).poll_write(context, unsent.chunk());
            let size = ready!(poll).map_err(write_error)?;
            self.link.note_write(&Poll::Ready(Ok(size)));
            unsent.advance(size);
        }
        self.unsent = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.unsent.is_some() {
            return Err(StreamErrorIncoming::Unknown("the last bytes are not sent yet".into()));
        }
        self.unsent = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        // This fails only if it has ended already.
        let _: Result<(), quinn::ClosedStream> = self.handle.0.borrow_mut().finish();
        Poll::Ready(Ok(()))
    }

    fn reset(&mut self, code: u64) {
        let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
        // As above.
        let _: Result<(), quinn::ClosedStream> = self.handle.0.borrow_mut().reset(code);
    }

    fn send_id(&self) -> StreamId {
        self.id
    }
}

/// The receiving side of a stream.
pub(super) struct Receiver {
    stream: quinn::RecvStream,
    link: Rc<Link>,
}

/// Bytes read at once.
const READ_SIZE: usize = 16 * 1024;

impl quic::RecvStream for Receiver {
    type Buf = Bytes;

    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let mut buffer = [0; READ_SIZE];
        let size = ready!(self.stream.poll_read(context, &mut buffer)).map_err(read_error)?;
        self.link.note_read(size);
        Poll::Ready(Ok((size > 0).then(|| Bytes::copy_from_slice(&buffer[..size]))))
    }

    fn stop_sending(&mut self, code: u64) {
        // This fails only if all has been read.
        let _: Result<(), quinn::ClosedStream> =
            self.stream.stop(VarInt::from_u64(code).unwrap_or(VarInt::MAX));
    }

    fn recv_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

/// The stream of a request.
pub(super) struct Bidirectional {
    sender: Sender,
    receiver: Receiver,
}

impl quic::BidiStream<Bytes> for Bidirectional {
    type SendStream = Sender;
    type RecvStream = Receiver;

    fn split(self) -> (Sender, Receiver) {
        (self.sender, self.receiver)
    }
}

impl quic::SendStream<Bytes> for Bidirectional {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sender.poll_ready(context)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.sender.send_data(data)
    }

    fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sender.poll_finish(context)
    }

    fn reset(&mut self, code: u64) {
        quic::SendStream::reset(&mut self.sender, code);
    }

    fn send_id(&self) -> StreamId {
        self.sender.send_id()
    }
}

impl quic::RecvStream for Bidirectional {
    type Buf = Bytes;

    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receiver.poll_data(context)
    }

    fn stop_sending(&mut self, code: u64) {
        self.receiver.stop_sending(code);
    }

    fn recv_id(&self) -> StreamId {
        self.receiver.recv_id()
    }
}

/// An error code as quinn has it.
pub(super) fn var_int(code: Code) -> VarInt {
    VarInt::from_u64(code.value()).unwrap_or(VarInt::MAX)
}

fn stream_id(id: quinn::StreamId) -> StreamId {
    u64::from(id).try_into().expect("both count streams as QUIC does")
}

fn lost(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        error => ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}

fn lost_stream(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: lost(error) }
}

fn write_error(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() },
        WriteError::ConnectionLost(error) => lost_stream(error),
        error @ (WriteError::ClosedStream | WriteError::ZeroRttRejected) => {
            StreamErrorIncoming::Unknown(Box::new(error))
        }
    }
}

fn read_error(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() },
        ReadError::ConnectionLost(error) => lost_stream(error),
        error @ (ReadError::ClosedStream | ReadError::IllegalOrderedRead | ReadError::ZeroRttRejected) => {
            StreamErrorIncoming::Unknown(Box::new(error))
        }
    }
}

//! The messages of a request, each behind a prefix of five bytes, and the same of replies.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use prost::Message;

use super::conclusion::{Conclusion, INTERNAL, RESOURCE_EXHAUSTED, UNIMPLEMENTED};

/// The size of the prefix of a message: a byte that says whether it is compressed, and its length.
pub(super) const PREFIX_SIZE: usize = 5;

/// The messages of a request, whose bytes may be cut anywhere.
#[derive(Debug)]
pub(crate) struct Messages {
    unread: BytesMut,
    size_max: usize,
}

impl Messages {
    /// Makes a reader that takes no message above this size.
    pub(crate) fn new(size_max: usize) -> Self {
        Self { unread: BytesMut::new(), size_max }
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    /// Returns the next message if all of it is there. Behind an error nothing can be read any more.
    pub(crate) fn poll_message(&mut self) -> Result<Option<Bytes>, Conclusion> {
        let Some(&[flag, ref length @ ..]) = self.unread.first_chunk::<PREFIX_SIZE>() else {
            return Ok(None);
        };
        match flag {
            0 => {}
            1 => return Err(Conclusion::new(UNIMPLEMENTED, "compressed messages are not supported")),
            _ => return Err(Conclusion::new(INTERNAL, format!("a message has the unknown flag {flag}"))),
        }
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if length > self.size_max {
            return Err(too_large(self.size_max));
        }
        if self.unread.len() - PREFIX_SIZE < length {
            return Ok(None);
        }
        self.unread.advance(PREFIX_SIZE);
        Ok(Some(self.unread.split_to(length).freeze()))
    }

    /// Returns the end that a call comes to if nothing follows.
    pub(crate) fn end(&self) -> Conclusion {
        if self.unread.is_empty() {
            return Conclusion::OK;
        }
        Conclusion::new(INTERNAL, "the last message is incomplete")
    }
}

/// Refuses a message above this size.
pub(super) fn too_large(size_max: usize) -> Conclusion {
    Conclusion::new(RESOURCE_EXHAUSTED, format!("a message may have {size_max} bytes"))
}

/// Returns the message of a request's whole body. It has exactly one. `body`: `None` if it was too large to be kept.
pub(super) fn only_message(body: Option<&[u8]>, size_max: usize) -> Result<Bytes, Conclusion> {
    let mut messages = Messages::new(size_max);
    let Some(body) = body else { return Err(too_large(size_max)) };
    messages.push(body);
    let number_refused = || Conclusion::new(UNIMPLEMENTED, "this method takes exactly one message");
    let Some(message) = messages.poll_message()? else {
        return Err(if body.is_empty() { number_refused() } else { messages.end() });
    };
    if messages.unread.is_empty() { Ok(message) } else { Err(number_refused()) }
}

/// Decodes a message.
pub(super) fn decoded<M: Message + Default>(message: Bytes) -> Result<M, Conclusion> {
    M::decode(message)
        .map_err(|error| Conclusion::new(INTERNAL, format!("the message cannot be decoded: {error}")))
}

/// Encodes a message with its prefix.
pub(crate) fn framed(message: &impl Message) -> Bytes {
    let size = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(PREFIX_SIZE + size);
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(size).expect("a message is smaller than 4 GiB"));
    message.encode(&mut bytes).expect("there is room for all of it");
    bytes.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_wherever_they_are_cut() {
        let bytes = b"\0\0\0\0\x02hi\0\0\0\0\0\0\0\0\0\x05there";
        for piece in 1..=bytes.len() {
            let (mut messages, mut found) = (Messages::new(5), Vec::new());
            for piece in bytes.chunks(piece) {
                messages.push(piece);
                while let Some(message) = messages.poll_message().unwrap() {
                    found.push(message);
                }
            }
            assert_eq!(found, [&b"hi"[..], b"", b"there"], "pieces of {piece}");
            assert_eq!(messages.end(), Conclusion::OK);
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let status = |bytes: &[u8]| {
            let mut messages = Messages::new(5);
            messages.push(bytes);
            messages.poll_message().map_err(|conclusion| conclusion.status)
        };
        assert_eq!(status(b"\x01\0\0\0\x02hi"), Err(UNIMPLEMENTED));
        assert_eq!(status(b"\x02\0\0\0\x02hi"), Err(INTERNAL));
        assert_eq!(status(b"\0\0\0\0\x06"), Err(RESOURCE_EXHAUSTED));
        assert_eq!(status(b"\0\xff\xff\xff\xff"), Err(RESOURCE_EXHAUSTED));
        assert_eq!(status(b"\0\0\0\0\x05"), Ok(None));
    }

    #[test]
    fn a_method_that_takes_one_message_takes_no_other_number() {
        let status = |body: &[u8]| only_message(Some(body), 5).map_err(|conclusion| conclusion.status);
        assert_eq!(status(b"\0\0\0\0\x02hi"), Ok(Bytes::from_static(b"hi")));
        assert_eq!(status(b"\0\0\0\0\0"), Ok(Bytes::new()));
        assert_eq!(status(b""), Err(UNIMPLEMENTED));
        assert_eq!(status(b"\0\0\0\0\0\0\0\0\0\0"), Err(UNIMPLEMENTED));
        assert_eq!(status(b"\0\0\0\0\x02h"), Err(INTERNAL));
        assert_eq!(status(b"\0\0"), Err(INTERNAL));
        assert_eq!(only_message(None, 5).map_err(|conclusion| conclusion.status), Err(RESOURCE_EXHAUSTED));
    }

    #[test]
    fn a_framed_message_is_what_a_client_reads() {
        let bytes = framed(&"hello".to_owned());
        let mut sizes = Vec::new();
        let mut reader = httperf_proto::grpc::Messages::default();
        reader.push(&bytes, &mut |size| sizes.push(size));
        assert_eq!((sizes, reader.is_malformed()), (vec![7], false));
    }
}

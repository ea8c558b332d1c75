//! Messages of sockets with control data (cmsg(3)): calls of recvmsg(2) and sendmsg(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use bytes::BytesMut;
use nix::libc;

/// Room for control data: a message with three times, and one with the error that reports a sent byte, which includes
/// an address.
const CONTROL_SIZE: usize = 128;

/// Control data, aligned as the kernel expects it, and how much of it there is.
#[repr(C, align(8))]
pub(crate) struct Control {
    bytes: [u8; CONTROL_SIZE],
    length: usize,
}

/// Sizes in control data: a message begins with its length (a word), its level and its type, and is padded to whole
/// words (cmsg(3)).
const WORD: usize = size_of::<usize>();
const HEAD: usize = WORD + 2 * size_of::<libc::c_int>();

impl Control {
    /// Room for what a call returns.
    pub(crate) fn empty() -> Self {
        Self { bytes: [0; CONTROL_SIZE], length: 0 }
    }

    /// One message. `data` is short.
    pub(crate) fn with(level: libc::c_int, kind: libc::c_int, data: &[u8]) -> Self {
        let mut control = Self::empty();
        let length = HEAD + data.len();
        control.bytes[..WORD].copy_from_slice(&length.to_ne_bytes());
        control.bytes[WORD..WORD + 4].copy_from_slice(&level.to_ne_bytes());
        control.bytes[WORD + 4..HEAD].copy_from_slice(&kind.to_ne_bytes());
        control.bytes[HEAD..length].copy_from_slice(data);
        control.length = length.next_multiple_of(WORD);
        control
    }
}

/// Calls recvmsg(2). Returns the number of bytes read and the control data that came with them.
///
/// nix wraps the same call safely, but takes 160 instructions more to decode what came with the bytes, which every read would pay.
pub(crate) fn take_message<'c>(
    socket: impl AsFd,
    buffer: &mut [u8],
    control: &'c mut Control,
    flags: libc::c_int,
) -> io::Result<(usize, &'c [u8])> {
    let piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: the piece is the buffer, which is borrowed until the call returns.
    unsafe { receive_message(socket, piece, control, flags) }
}

/// As [`take_message`], and appends what it read to the buffer, as much as there is room for. Returns the control data.
pub(crate) fn append_message<'c>(
    socket: impl AsFd,
    buffer: &mut BytesMut,
    control: &'c mut Control,
) -> io::Result<&'c [u8]> {
    let room = buffer.spare_capacity_mut();
    let piece = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    // SAFETY: the piece is the buffer's room, which is borrowed until the call returns.
    let (count, control) = unsafe { receive_message(socket, piece, control, 0)? };
    // SAFETY: the kernel has written this many bytes to the room, whose size it was told.
    unsafe { buffer.set_len(buffer.len() + count) };
    Ok(control)
}

/// Calls recvmsg(2). The count that it returns is at most the size of the piece, unless flags ask for another.
///
/// # Safety
/// The piece must be valid for writes until the call returns.
unsafe fn receive_message(
    socket: impl AsFd,
    mut piece: libc::iovec,
    control: &mut Control,
    flags: libc::c_int,
) -> io::Result<(usize, &[u8])> {
    let mut message = empty_message();
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_SIZE as _;
    // SAFETY: the message names one piece, for which the caller vouches, and the control data, which is valid for writes of
    // the length given with it until the call returns; the kernel writes no more.
    let count = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, flags) };
    let Ok(count) = usize::try_from(count) else { return Err(io::Error::last_os_error()) };
    #[expect(clippy::unnecessary_cast, reason = "the length has other types elsewhere")]
    let length = (message.msg_controllen as usize).min(CONTROL_SIZE);
    Ok((count, &control.bytes[..length]))
}

/// Calls sendmsg(2) for two pieces, one after the other, without raising SIGPIPE. Returns the number of bytes written.
pub(crate) fn send_message(socket: impl AsFd, pieces: [&[u8]; 2], control: &Control) -> io::Result<usize> {
    let mut pieces =
        pieces.map(|piece| libc::iovec { iov_base: piece.as_ptr().cast_mut().cast(), iov_len: piece.len() });
    let mut message = empty_message();
    message.msg_iov = pieces.as_mut_ptr();
    message.msg_iovlen = pieces.len() as _;
    message.msg_control = control.bytes.as_ptr().cast_mut().cast();
    message.msg_controllen = control.length as _;
    // SAFETY: the message names the pieces and the control data, each valid for reads of the length given with it until
    // the call returns; the kernel writes to none of them.
    let count = unsafe { libc::sendmsg(socket.as_fd().as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

fn empty_message() -> libc::msghdr {
    // SAFETY: the structure has pointers and integers only, and zero is a value of each.
    unsafe { std::mem::zeroed() }
}

/// The data of the first message whose level and type are wanted; `None` if there is none.
pub(crate) fn message_data(
    mut control: &[u8],
    wanted: impl Fn(libc::c_int, libc::c_int) -> bool,
) -> Option<&[u8]> {
    while let Some((head, _)) = control.split_at_checked(HEAD) {
        let length = usize::from_ne_bytes(head[..WORD].try_into().ok()?);
        let data = control.get(HEAD..length)?;
        if wanted(number(&head[WORD..])?, number(&head[WORD + 4..])?) {
            return Some(data);
        }
        control = control.get(length.next_multiple_of(WORD)..)?;
    }
    None
}

/// The number at the beginning of some data.
pub(crate) fn number(data: &[u8]) -> Option<libc::c_int> {
    Some(libc::c_int::from_ne_bytes(data.get(..4)?.try_into().ok()?))
}

//! HTTP/3, the client's side (RFC 9114).
//!
//! So far, the parts that read and write bytes, wherever those are cut: frames (`frame`), the types of
//! unidirectional streams (`uni`) and header compression (`qpack`).

#![cfg_attr(
    not(test),
    expect(dead_code, unused_imports, reason = "the engine of HTTP/3, which uses them, comes next")
)]

mod error;
mod frame;
mod fuzzing;
mod qpack;
mod uni;
mod varint;

pub use self::error::ErrorCode;
pub use self::fuzzing::{check_frames, check_qpack};

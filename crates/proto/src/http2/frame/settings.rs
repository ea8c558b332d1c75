//! SETTINGS (RFC 9113, section 6.5): what an endpoint allows the other.

use super::{
    CONNECTION, ErrorCode, FrameHeader, MAX_FRAME_SIZE_MAX, MAX_FRAME_SIZE_MIN, Violation, flags, kind,
    take_u32,
};

/// A SETTINGS frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings<'a> {
    /// True if it acknowledges ours; then it has no parameters.
    pub(crate) ack: bool,
    payload: &'a [u8],
}

/// A parameter that has been checked, or an unknown one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// SETTINGS_HEADER_TABLE_SIZE: the size of the table with which the sender decodes header blocks.
    HeaderTableSize(u32),
    /// SETTINGS_ENABLE_PUSH: whether the sender takes pushed streams.
    EnablePush(bool),
    /// SETTINGS_MAX_CONCURRENT_STREAMS: the number of streams that the receiver may have open.
    MaxConcurrentStreams(u32),
    /// SETTINGS_INITIAL_WINDOW_SIZE: the initial window of streams, at most 2^31 - 1.
    InitialWindowSize(u32),
    /// SETTINGS_MAX_FRAME_SIZE: the largest payload that the sender takes, from 2^14 to 2^24 - 1.
    MaxFrameSize(u32),
    /// SETTINGS_MAX_HEADER_LIST_SIZE: the largest header list that the sender takes.
    MaxHeaderListSize(u32),
    /// SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441, section 3): whether the sender takes extended CONNECT requests.
    EnableConnectProtocol(bool),
    /// An unknown identifier and its value.
    Unknown(u16, u32),
}

/// The size of a parameter.
const PARAMETER_SIZE: usize = 6;

/// The largest flow-control window.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.9.1>
pub(crate) const WINDOW_MAX: u32 = (1 << 31) - 1;

impl<'a> Settings<'a> {
    pub(super) fn parse(header: FrameHeader, payload: &'a [u8]) -> Result<Self, Violation> {
        if header.stream != CONNECTION {
            return Err(Violation::of_connection(
                ErrorCode::PROTOCOL_ERROR,
                "a SETTINGS frame on a stream that is not 0",
            ));
        }
        let ack = header.has(flags::ACK);
        if ack && !payload.is_empty() || !payload.len().is_multiple_of(PARAMETER_SIZE) {
            return Err(Violation::of_connection(
                ErrorCode::FRAME_SIZE_ERROR,
                "a SETTINGS frame of a size that it cannot have",
            ));
        }
        Ok(Self { ack, payload })
    }

    /// Returns the parameters in order. If one is repeated, the last counts.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = Result<Parameter, Violation>> + 'a {
        self.payload.chunks_exact(PARAMETER_SIZE).map(|bytes| {
            let (id, value) = bytes.split_at(2);
            let (value, _) = take_u32(value).expect("four bytes are left");
            Parameter::checked(u16::from_be_bytes([id[0], id[1]]), value)
        })
    }

    /// Appends a frame with these parameters.
    pub(crate) fn write(parameters: &[Parameter], out: &mut Vec<u8>) {
        let length = (parameters.len() * PARAMETER_SIZE) as u32;
        FrameHeader { length, kind: kind::SETTINGS, flags: 0, stream: CONNECTION }.write(out);
        for parameter in parameters {
            let (id, value) = parameter.raw();
            out.extend_from_slice(&id.to_be_bytes());
            out.extend_from_slice(&value.to_be_bytes());
        }
    }

    /// Appends an acknowledgement.
    pub(crate) fn write_ack(out: &mut Vec<u8>) {
        FrameHeader { length: 0, kind: kind::SETTINGS, flags: flags::ACK, stream: CONNECTION }.write(out);
    }
}

impl Parameter {
    fn checked(id: u16, value: u32) -> Result<Self, Violation> {
        Ok(match (id, value) {
            (0x1, size) => Self::HeaderTableSize(size),
            // Only servers push, so a server can only say 0 (section 6.5.2).
            (0x2, 0) => Self::EnablePush(false),
            (0x2, _) => {
                return Err(Violation::of_connection(
                    ErrorCode::PROTOCOL_ERROR,
                    "a server that enables pushing to itself",
                ));
            }
            (0x3, count) => Self::MaxConcurrentStreams(count),
            (0x4, size) if size <= WINDOW_MAX => Self::InitialWindowSize(size),
            (0x4, _) => {
                return Err(Violation::of_connection(
                    ErrorCode::FLOW_CONTROL_ERROR,
                    "an initial window beyond 2^31 - 1",
                ));
            }
            (0x5, size) if (MAX_FRAME_SIZE_MIN..=MAX_FRAME_SIZE_MAX).contains(&size) => {
                Self::MaxFrameSize(size)
            }
            (0x5, _) => {
                return Err(Violation::of_connection(
                    ErrorCode::PROTOCOL_ERROR,
                    "a largest frame size that is not allowed",
                ));
            }
            (0x6, size) => Self::MaxHeaderListSize(size),
            (0x8, value @ (0 | 1)) => Self::EnableConnectProtocol(value == 1),
            (0x8, _) => {
                return Err(Violation::of_connection(
                    ErrorCode::PROTOCOL_ERROR,
                    "a SETTINGS_ENABLE_CONNECT_PROTOCOL that is neither 0 nor 1",
                ));
            }
            (id, value) => Self::Unknown(id, value),
        })
    }

    fn raw(self) -> (u16, u32) {
        match self {
            Self::HeaderTableSize(size) => (0x1, size),
            Self::EnablePush(is_enabled) => (0x2, is_enabled.into()),
            Self::MaxConcurrentStreams(count) => (0x3, count),
            Self::InitialWindowSize(size) => (0x4, size),
            Self::MaxFrameSize(size) => (0x5, size),
            Self::MaxHeaderListSize(size) => (0x6, size),
            Self::EnableConnectProtocol(is_enabled) => (0x8, is_enabled.into()),
            Self::Unknown(id, value) => (id, value),
        }
    }
}

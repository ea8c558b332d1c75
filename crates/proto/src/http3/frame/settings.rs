//! SETTINGS (RFC 9114, section 7.2.4): what an endpoint allows the other.

use super::{ErrorCode, Violation, kind, varint, write_header};

/// A SETTINGS frame, whose parameters have been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings<'a> {
    payload: &'a [u8],
}

/// A parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// SETTINGS_QPACK_MAX_TABLE_CAPACITY: the largest dynamic table that the sender decodes with; 0 if not sent.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc9204#section-5>
    QpackMaxTableCapacity(u64),
    /// SETTINGS_MAX_FIELD_SECTION_SIZE: the largest field section that the sender takes; unlimited if not sent.
    MaxFieldSectionSize(u64),
    /// SETTINGS_QPACK_BLOCKED_STREAMS: the number of streams that may wait for the sender's dynamic table; 0 if not
    /// sent.
    QpackBlockedStreams(u64),
    /// An unknown identifier and its value.
    Unknown(u64, u64),
}

/// The number of parameters that a frame may have. There are a dozen or so in use.
const COUNT_MAX: usize = 128;

/// Identifiers of HTTP/2 that HTTP/3 does not have.
///
/// <https://www.rfc-editor.org/rfc/rfc9114#section-7.2.4.1>
const OF_HTTP2: [u64; 5] = [0x00, 0x02, 0x03, 0x04, 0x05];

impl<'a> Settings<'a> {
    pub(super) fn parse(payload: &'a [u8]) -> Result<Self, Violation> {
        let mut ids = [0; COUNT_MAX];
        let mut count = 0;
        let mut rest = payload;
        while !rest.is_empty() {
            let (id, _) = take_pair(&mut rest).ok_or(Violation::of_connection(
                ErrorCode::H3_FRAME_ERROR,
                "a SETTINGS frame that ends within a parameter",
            ))?;
            if OF_HTTP2.contains(&id) {
                return Err(Violation::of_connection(ErrorCode::H3_SETTINGS_ERROR, "a setting of HTTP/2"));
            }
            if ids[..count].contains(&id) {
                return Err(Violation::of_connection(
                    ErrorCode::H3_SETTINGS_ERROR,
                    "a setting that is repeated",
                ));
            }
            let Some(free) = ids.get_mut(count) else {
                return Err(Violation::of_connection(ErrorCode::H3_EXCESSIVE_LOAD, "too many settings"));
            };
            *free = id;
            count += 1;
        }
        Ok(Self { payload })
    }

    /// Returns the parameters in order.
    pub(crate) fn parameters(self) -> impl Iterator<Item = Parameter> + 'a {
        let mut rest = self.payload;
        std::iter::from_fn(move || take_pair(&mut rest)).map(|(id, value)| Parameter::new(id, value))
    }

    /// Appends a frame with these parameters.
    pub(crate) fn write(parameters: &[Parameter], out: &mut Vec<u8>) {
        let pairs = parameters.iter().map(|parameter| parameter.raw());
        let length = pairs.clone().map(|(id, value)| varint::size(id) + varint::size(value)).sum::<usize>();
        write_header(kind::SETTINGS, length as u64, out);
        for (id, value) in pairs {
            varint::write(id, out);
            varint::write(value, out);
        }
    }
}

impl Parameter {
    fn new(id: u64, value: u64) -> Self {
        match id {
            0x01 => Self::QpackMaxTableCapacity(value),
            0x06 => Self::MaxFieldSectionSize(value),
            0x07 => Self::QpackBlockedStreams(value),
            id => Self::Unknown(id, value),
        }
    }

    fn raw(self) -> (u64, u64) {
        match self {
            Self::QpackMaxTableCapacity(value) => (0x01, value),
            Self::MaxFieldSectionSize(value) => (0x06, value),
            Self::QpackBlockedStreams(value) => (0x07, value),
            Self::Unknown(id, value) => (id, value),
        }
    }
}

/// Splits off an identifier and a value.
fn take_pair(bytes: &mut &[u8]) -> Option<(u64, u64)> {
    let (id, id_size) = varint::read(bytes)?;
    let (value, value_size) = varint::read(&bytes[id_size..])?;
    *bytes = &bytes[id_size + value_size..];
    Some((id, value))
}

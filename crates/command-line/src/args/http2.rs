//! Arguments about the version of HTTP, and about HTTP/2.

use std::fmt;
use std::num::NonZeroU32;

use httperf_plan::{ConnectionWindow, HeaderTable, MaxFrame, Window};

/// A value of `--http-version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `A.B`; `2` stands for `2.0`.
    Numbered {
        /// The A.
        major: u32,
        /// The B.
        minor: u32,
    },
    /// `auto`.
    Auto,
}

impl Version {
    /// HTTP/1.0.
    pub const HTTP_10: Self = Self::Numbered { major: 1, minor: 0 };
    /// HTTP/1.1.
    pub const HTTP_11: Self = Self::Numbered { major: 1, minor: 1 };
    /// HTTP/2.
    pub const HTTP_2: Self = Self::Numbered { major: 2, minor: 0 };
    /// HTTP/3.
    pub const HTTP_3: Self = Self::Numbered { major: 3, minor: 0 };

    /// Returns whether HTTP/2 is spoken, or may be.
    #[must_use]
    pub fn may_be_http2(self) -> bool {
        self == Self::HTTP_2 || self == Self::Auto
    }

    /// Returns whether calls may have streams of their own.
    #[must_use]
    pub fn may_have_streams(self) -> bool {
        self.may_be_http2() || self == Self::HTTP_3
    }
}

/// The version as one types it.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            &Self::HTTP_2 => f.write_str("2"),
            &Self::HTTP_3 => f.write_str("3"),
            Self::Numbered { major, minor } => write!(f, "{major}.{minor}"),
            Self::Auto => f.write_str("auto"),
        }
    }
}

/// Arguments about HTTP/2.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Http2Args {
    /// `--streams`.
    pub streams: Option<NonZeroU32>,
    /// `--h2-window` in bytes.
    pub window: Option<Window>,
    /// `--h2-connection-window` in bytes.
    pub connection_window: Option<ConnectionWindow>,
    /// `--h2-header-table` in bytes.
    pub header_table: Option<HeaderTable>,
    /// `--h2-max-frame` in bytes.
    pub max_frame: Option<MaxFrame>,
}

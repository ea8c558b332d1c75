//! Arguments about the version of HTTP, and about HTTP/2.

use std::fmt;
use std::num::NonZeroU32;

use httperf_plan::{ConnectionWindow, HeaderTable, MaxFrame, Window};

use super::Args;
use crate::command_line::grammar::ParseStop;

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
    /// `--h2c-upgrade`.
    pub upgrade: bool,
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

impl Http2Args {
    /// The sizes that were given, by the options that give them.
    #[must_use]
    pub fn sizes(&self) -> [(&'static str, Option<u32>); 4] {
        [
            ("--h2-window", self.window.map(Into::into)),
            ("--h2-connection-window", self.connection_window.map(Into::into)),
            ("--h2-header-table", self.header_table.map(Into::into)),
            ("--h2-max-frame", self.max_frame.map(Into::into)),
        ]
    }

    /// Refuses what means nothing in the version that is spoken. What depends on TLS is judged when that is known for
    /// sure: a list of requests may ask for it.
    pub(super) fn check(&self, args: &Args) -> Result<(), ParseStop> {
        let refused = |message: String| Err(ParseStop::rejected(message));
        let version = args.version();
        if !version.may_be_http2() {
            if self.upgrade {
                return refused(format!("--h2c-upgrade: expected --http-version=2 or none, got `{version}`"));
            }
            if self.streams.is_some() && !version.may_have_streams() {
                return refused(
                    "--streams: needs --http-version=2, 3 or auto; over HTTP/1.1 --pipeline says how many calls may be \
                     outstanding"
                        .to_owned(),
                );
            }
            let given = self.sizes().into_iter().find(|(_, size)| size.is_some());
            if let Some((option, _)) = given {
                return refused(format!("{option}: needs --http-version=2 or auto"));
            }
        }
        if !version.may_have_streams() {
            return Ok(());
        }
        if self.upgrade && version == Version::Auto {
            return refused(format!("--h2c-upgrade: expected --http-version=2 or none, got `{version}`"));
        }
        if args.load.pipeline.is_some() {
            return refused(format!(
                "--pipeline: expected no {} beside it; --streams says how many calls may be outstanding there",
                args.version_option()
            ));
        }
        Ok(())
    }
}

//! Meeting places: the address of rank 0, or a folder that all ranks see.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use super::{Links, folder, tcp};

/// The place where ranks meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeetingPlace {
    /// A TCP port of rank 0.
    Address {
        /// Its host: a name or an address.
        host: String,
        /// The port.
        port: u16,
    },
    /// A folder that all ranks see.
    Folder(PathBuf),
}

/// A text that names no meeting place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected HOST:PORT or dir:PATH")]
pub struct NotAPlace;

impl FromStr for MeetingPlace {
    type Err = NotAPlace;

    fn from_str(text: &str) -> Result<Self, NotAPlace> {
        if let Some(path) = text.strip_prefix("dir:") {
            return if path.is_empty() { Err(NotAPlace) } else { Ok(Self::Folder(path.into())) };
        }
        let (host, port) = text.rsplit_once(':').ok_or(NotAPlace)?;
        let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        match port.parse() {
            Ok(port) if port > 0 && is_number && !host.is_empty() => {
                Ok(Self::Address { host: host.to_owned(), port })
            }
            _ => Err(NotAPlace),
        }
    }
}

impl fmt::Display for MeetingPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Address { host, port } => write!(f, "{host}:{port}"),
            Self::Folder(path) => write!(f, "dir:{}", path.display()),
        }
    }
}

impl MeetingPlace {
    /// Returns true if only processes of this machine can come there.
    #[must_use]
    pub fn is_on_this_machine(&self) -> bool {
        match self {
            Self::Address { host, .. } if host == "localhost" => true,
            Self::Address { host, .. } => {
                host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
            }
            Self::Folder(_) => false,
        }
    }

    /// Opens the place, as rank 0.
    ///
    /// # Errors
    /// The system's.
    pub fn open(&self) -> io::Result<Box<dyn Links>> {
        Ok(match self {
            Self::Address { host, port } => Box::new(tcp::TcpLinks::listen(host, *port)?),
            Self::Folder(path) => Box::new(folder::FolderLinks::open(path)?),
        })
    }

    /// Comes to the place, as another rank. Tries again for `patience`, while `goes_on`.
    ///
    /// # Errors
    /// The reason why rank 0 could not be reached.
    pub fn come(&self, patience: Duration, goes_on: &dyn Fn() -> bool) -> io::Result<Box<dyn Links>> {
        Ok(match self {
            Self::Address { host, port } => Box::new(tcp::TcpLinks::connect(host, *port, patience, goes_on)?),
            Self::Folder(path) => Box::new(folder::FolderLinks::come(path, patience, goes_on)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        for text in ["n1:7000", "10.0.0.1:1", "[::1]:65535", "dir:/shared/a b"] {
            assert_eq!(text.parse::<MeetingPlace>().map(|place| place.to_string()).as_deref(), Ok(text));
        }
        for wrong in ["", "n1", "n1:", ":7000", "n1:0", "n1:65536", "n1:+1", "dir:", "n1:x"] {
            assert_eq!(wrong.parse::<MeetingPlace>(), Err(NotAPlace), "{wrong}");
        }
    }
}

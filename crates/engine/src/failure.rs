//! The mapping of errors to the classes of the report.

use std::io;

use httperf_proto::ProtocolError;
use httperf_stats::Failure;
use rustix::io::Errno;

/// Returns the class of a system error, as documented. The classic tool mixed some of them up: EADDRNOTAVAIL is
/// `addrunavail`, and EINVAL is not a shortage of descriptors.
pub(crate) fn of_io(error: &io::Error) -> Failure {
    match Errno::from_io_error(error) {
        Some(Errno::TIMEDOUT) => Failure::SocketTimeout,
        Some(Errno::CONNREFUSED) => Failure::Refused,
        Some(Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED) => Failure::Reset,
        Some(Errno::MFILE) => Failure::FdUnavailable,
        Some(Errno::NFILE) => Failure::FileTableFull,
        Some(Errno::ADDRNOTAVAIL) => Failure::AddressUnavailable,
        _ => Failure::Other,
    }
}

/// Returns the class of a malformed reply.
pub(crate) fn of_protocol(error: &ProtocolError) -> Failure {
    match error {
        ProtocolError::Truncated => Failure::Reset,
        _ => Failure::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_errno_has_its_class() {
        let cases = [
            (Errno::TIMEDOUT, Failure::SocketTimeout),
            (Errno::CONNREFUSED, Failure::Refused),
            (Errno::CONNRESET, Failure::Reset),
            (Errno::PIPE, Failure::Reset),
            (Errno::MFILE, Failure::FdUnavailable),
            (Errno::NFILE, Failure::FileTableFull),
            (Errno::ADDRNOTAVAIL, Failure::AddressUnavailable),
            (Errno::INVAL, Failure::Other),
            (Errno::NETUNREACH, Failure::Other),
            (Errno::HOSTUNREACH, Failure::Other),
        ];
        for (errno, class) in cases {
            assert_eq!(of_io(&errno.into()), class, "{errno:?}");
        }
    }
}

//! The bodies of requests as they come in: forgotten, unless an answer depends on them.

use std::cell::{Cell, RefCell};

/// The intake of one request's body.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    /// Bytes that may be kept; `None` if nothing is.
    size_max: Cell<Option<usize>>,
    kept: RefCell<Vec<u8>>,
    is_overfull: Cell<bool>,
}

impl Intake {
    /// Keeps what comes from now on, up to this size.
    pub(crate) fn keep(&self, size_max: usize) {
        self.size_max.set(Some(size_max));
    }

    /// Takes the next bytes.
    pub(crate) fn take_in(&self, bytes: &[u8]) {
        let Some(size_max) = self.size_max.get() else { return };
        let mut kept = self.kept.borrow_mut();
        if self.is_overfull.get() || kept.len() + bytes.len() > size_max {
            self.is_overfull.set(true);
            // Nobody needs a part of it.
            *kept = Vec::new();
        } else {
            kept.extend_from_slice(bytes);
        }
    }

    /// Returns what was kept; `None` if it was too large.
    pub(crate) fn kept(&self) -> Option<Vec<u8>> {
        (!self.is_overfull.get()).then(|| self.kept.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_kept_only_if_it_is_wanted_and_fits() {
        let take = |size_max: Option<usize>| {
            let intake = Intake::default();
            if let Some(size_max) = size_max {
                intake.keep(size_max);
            }
            for part in [&b"abc"[..], b"def", b"g"] {
                intake.take_in(part);
            }
            intake.kept()
        };
        assert_eq!(take(None), Some(Vec::new()));
        assert_eq!(take(Some(7)), Some(b"abcdefg".to_vec()));
        assert_eq!(take(Some(6)), None);
        assert_eq!(take(Some(5)), None);
    }
}

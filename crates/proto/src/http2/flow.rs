//! Flow control (RFC 9113, section 5.2), for a stream and for the connection.

use super::frame::WINDOW_MAX;

/// The initial size of all windows.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.9.2>
pub(super) const INITIAL_WINDOW_SIZE: u32 = 65_535;

/// The number of bytes that we may still send. Negative after the peer has made windows smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SendWindow(i64);

/// A window beyond 2^31 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overflow;

impl SendWindow {
    pub(super) fn new(size: u32) -> Self {
        Self(size.into())
    }

    /// Returns how many bytes may be sent.
    pub(super) fn available(self) -> usize {
        usize::try_from(self.0).unwrap_or(0)
    }

    /// Uses up `count` bytes, no more than are available.
    pub(super) fn take(&mut self, count: usize) {
        debug_assert!(count <= self.available(), "no more is sent than the peer has room for");
        self.0 -= i64::try_from(count).expect("a window is far smaller");
    }

    /// Applies a WINDOW_UPDATE of the peer.
    pub(super) fn grow(&mut self, increment: u32) -> Result<(), Overflow> {
        self.change(increment.into())
    }

    /// Applies the difference between two initial window sizes, which changes all open streams (section
    /// 6.9.2).
    pub(super) fn change(&mut self, difference: i64) -> Result<(), Overflow> {
        let size = self.0 + difference;
        if size > WINDOW_MAX.into() {
            return Err(Overflow);
        }
        self.0 = size;
        Ok(())
    }
}

/// The number of bytes that the peer may still send, and the updates that it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReceiveWindow {
    /// The size when nothing is on its way.
    size: u32,
    /// The rest of it: negative if the peer used a larger window before it heard of this one.
    left: i64,
    /// The amount by which that may be negative.
    grace: u32,
}

/// The peer has sent more than the window allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exceeded;

impl ReceiveWindow {
    pub(super) fn new(size: u32) -> Self {
        Self { size, left: size.into(), grace: 0 }
    }

    /// Makes the window of a stream. Until the peer has acknowledged our settings, it may use the initial
    /// size.
    pub(super) fn of_stream(size: u32, is_acknowledged: bool) -> Self {
        let grace = if is_acknowledged { 0 } else { INITIAL_WINDOW_SIZE.saturating_sub(size) };
        Self { grace, ..Self::new(size) }
    }

    /// Uses up `count` bytes that arrived.
    pub(super) fn take(&mut self, count: u32) -> Result<(), Exceeded> {
        let left = self.left - i64::from(count);
        if left + i64::from(self.grace) < 0 {
            return Err(Exceeded);
        }
        self.left = left;
        Ok(())
    }

    /// Returns the WINDOW_UPDATE that is due, if half of the window is used up: so the peer does not wait,
    /// and not every frame is answered by another.
    pub(super) fn increment(&mut self) -> Option<u32> {
        let used = i64::from(self.size) - self.left;
        if used == 0 || used < i64::from(self.size / 2) {
            return None;
        }
        self.left = self.size.into();
        // No more than window and grace together.
        u32::try_from(used).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_send_window_may_fall_below_zero_and_recover() {
        let mut window = SendWindow::new(100);
        window.take(80);
        assert_eq!(window.change(-50), Ok(()));
        assert_eq!(window.available(), 0);
        assert_eq!(window.grow(29), Ok(()));
        assert_eq!(window.available(), 0);
        assert_eq!(window.grow(2), Ok(()));
        assert_eq!(window.available(), 1);
    }

    #[test]
    fn no_window_is_larger_than_31_bits_allow() {
        let mut window = SendWindow::new(WINDOW_MAX);
        assert_eq!(window.grow(1), Err(Overflow));
        window.take(1);
        assert_eq!(window.grow(1), Ok(()));
        assert_eq!(window.available(), WINDOW_MAX as usize);
    }

    #[test]
    fn the_peer_hears_when_half_of_a_window_is_used_up() {
        let mut window = ReceiveWindow::new(100);
        assert_eq!(window.increment(), None);
        assert_eq!((window.take(49), window.increment()), (Ok(()), None));
        assert_eq!((window.take(1), window.increment()), (Ok(()), Some(50)));
        assert_eq!((window.take(100), window.increment()), (Ok(()), Some(100)));
        assert_eq!(window.take(101), Err(Exceeded));
    }

    #[test]
    fn a_window_of_a_byte_works_and_one_of_none_stays_shut() {
        let mut window = ReceiveWindow::new(1);
        assert_eq!((window.take(1), window.increment()), (Ok(()), Some(1)));
        let mut window = ReceiveWindow::new(0);
        assert_eq!((window.take(0), window.increment()), (Ok(()), None));
        assert_eq!(window.take(1), Err(Exceeded));
    }

    proptest! {
        #[test]
        fn a_peer_that_keeps_to_the_window_never_waits_for_ever(
            size in 1..1000_u32,
            sends in prop::collection::vec(0..400_u32, 0..100),
        ) {
            let (mut window, mut known) = (ReceiveWindow::new(size), size);
            for send in sends {
                let send = send.min(known);
                prop_assert_eq!(window.take(send), Ok(()));
                known -= send;
                known += window.increment().unwrap_or(0);
                prop_assert!(0 < known && known <= size);
            }
        }
    }
}

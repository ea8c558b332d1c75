//! Patience with a peer that keeps a connection busy and brings no call further.

/// Reason to end a connection on which such frames came.
pub(crate) const TOO_MANY_FRAMES: &str = "too many frames in a row that bring no reply further";

/// Reason to end a connection on which such streams were.
pub(crate) const TOO_MANY_RESETS: &str = "too many streams reset in a row";

/// Frames and resets since something was brought further.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    idle_frames: u32,
    resets: u32,
}

impl Patience {
    /// A frame brought a call further.
    pub(crate) fn note_progress(&mut self) {
        self.idle_frames = 0;
    }

    /// A reply is complete.
    pub(crate) fn note_reply(&mut self) {
        *self = Self::default();
    }

    /// Counts frames that bring no call further. Returns whether there were more than `max`.
    pub(crate) fn frames_exceed(&mut self, count: u64, max: u32) -> bool {
        self.idle_frames = self.idle_frames.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        self.idle_frames > max
    }

    /// Counts a stream that was reset by either side. Returns whether there were more than `max`.
    pub(crate) fn resets_exceed(&mut self, max: u32) -> bool {
        self.idle_frames = 0;
        self.resets += 1;
        self.resets > max
    }
}

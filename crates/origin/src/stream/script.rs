//! The pieces of a stream and their schedule.

use std::rc::Rc;
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use super::events;
use super::schedule::Schedule;
use super::settings::Streams;
use crate::delay::Delay;
use crate::openai::completion::Completion;
use crate::stamps::Departure;

/// A stream as it is to be: its pieces and their schedule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Script {
    format: Format,
    pub(super) schedule: Schedule,
    /// Events that the schedule is for.
    pub(super) events: u32,
    /// Events in a write, at least 1.
    pub(super) together: u32,
    pub(super) end: End,
}

/// The form of events.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Format {
    /// Numbered events with data of this size, or as small as possible.
    Numbered { size: u64 },
    /// The tokens of a completion.
    Completion(Rc<Completion>),
}

/// The end of a stream behind its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The closing events, if the format has any, and a proper end.
    Whole,
    /// An end without the closing events: what follows is a matter of the fault.
    Half,
    /// None: the stream breaks off.
    Cut,
}

/// The wishes of a request for its stream. For the rest there are [`Streams`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wishes {
    pub(crate) first: Option<Delay>,
    pub(crate) gap: Option<Delay>,
    pub(crate) together: Option<u32>,
    /// The number of events after which the stream breaks off.
    pub(crate) cut: Option<u32>,
    /// True if nothing is to break off: the request meets a fault already.
    pub(crate) is_never_cut: bool,
}

impl Script {
    /// Makes the script of a stream with so many events. No delay is above `longest`.
    pub(crate) fn new(
        format: Format,
        events: u32,
        wishes: &Wishes,
        streams: &Streams,
        longest: Duration,
        seed: u64,
    ) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        // Always drawn, so that it does not affect the later draws.
        let is_unlucky = random.random::<f64>() < streams.cut.value();
        let first = wishes.first.unwrap_or(streams.first);
        let gap = wishes.gap.unwrap_or(streams.gap);
        let script = Self {
            format,
            schedule: Schedule::new(first, gap, random, longest),
            events: events.max(1),
            together: wishes.together.unwrap_or(streams.together).max(1),
            end: End::Whole,
        };
        match wishes.cut {
            _ if wishes.is_never_cut => script,
            Some(events) => script.cut(events),
            None if is_unlucky => {
                let half = script.events / 2;
                script.cut(half)
            }
            None => script,
        }
    }

    /// Breaks the stream off after so many events.
    fn cut(self, events: u32) -> Self {
        Self { events: self.events.min(events), end: End::Cut, ..self }
    }

    /// The first half of the events, of which there may be none.
    pub(crate) fn half(&self) -> Self {
        Self { events: self.events / 2, end: End::Half, ..self.clone() }
    }

    /// Returns true if the stream breaks off.
    pub(crate) fn is_cut(&self) -> bool {
        self.end == End::Cut
    }

    /// Returns true if it has no piece at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.events == 0 && self.end == End::Half && !self.has_opening()
    }

    /// Returns the instant, after the header, of the last of so many events.
    pub(crate) fn due_of_last(&self, events: u32) -> Duration {
        self.schedule.clone().last(events.div_ceil(self.together))
    }

    /// Returns the number of events.
    pub(crate) fn events(&self) -> u32 {
        self.events
    }

    /// Returns the number of events in a write.
    pub(crate) fn together(&self) -> u32 {
        self.together
    }

    /// Returns the instant of the next write, as time since the header.
    pub(crate) fn due(&self) -> Duration {
        self.schedule.due()
    }

    /// Goes on to the write after it.
    pub(crate) fn advance(&mut self) {
        self.schedule.advance();
    }

    /// Returns true if something goes right behind the header.
    pub(super) fn has_opening(&self) -> bool {
        matches!(&self.format, Format::Completion(completion) if completion.has_opening())
    }

    /// Returns true if something follows the last event.
    pub(super) fn has_closing(&self) -> bool {
        self.end == End::Whole && matches!(self.format, Format::Completion(_))
    }

    /// Returns true if events are tokens.
    pub(super) fn has_tokens(&self) -> bool {
        matches!(self.format, Format::Completion(_))
    }

    /// Writes what goes right behind the header. Returns the number of events.
    pub(super) fn write_opening(&self, out: &mut Vec<u8>) -> u32 {
        match &self.format {
            Format::Numbered { .. } => 0,
            Format::Completion(completion) => completion.write_opening(out),
        }
    }

    /// Writes an event, counted from 0.
    pub(super) fn write_event(&self, index: u32, departure: Departure, out: &mut Vec<u8>) {
        match &self.format {
            Format::Numbered { size } => events::write_numbered(index, *size, departure, out),
            Format::Completion(completion) => completion.write_token(index, departure, out),
        }
    }

    /// Writes the data of a numbered event alone: a message on a WebSocket.
    pub(crate) fn write_message(&self, index: u32, departure: Departure, out: &mut Vec<u8>) {
        if let Format::Numbered { size } = &self.format {
            events::write_data(index, *size, departure, out);
        }
    }

    /// Writes what follows the last event. Returns the number of events.
    pub(super) fn write_closing(&self, out: &mut Vec<u8>) -> u32 {
        match &self.format {
            Format::Numbered { .. } => 0,
            Format::Completion(completion) => completion.write_closing(self.events, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn script(wishes: Wishes, streams: Streams, seed: u64) -> Script {
        Script::new(Format::Numbered { size: 0 }, 10, &wishes, &streams, HOUR, seed)
    }

    #[test]
    fn what_a_request_does_not_say_is_as_configured() {
        let streams = Streams {
            first: "1ms".parse().unwrap(),
            gap: "2ms".parse().unwrap(),
            together: 5,
            ..Streams::default()
        };
        let plain = script(Wishes::default(), streams, 1);
        assert_eq!((plain.due_of_last(10), plain.together), (Duration::from_millis(3), 5));
        let wishes = Wishes { gap: Some("10ms".parse().unwrap()), together: Some(4), ..Wishes::default() };
        let other = script(wishes, streams, 1);
        assert_eq!((other.due_of_last(10), other.together), (Duration::from_millis(21), 4));
    }

    #[test]
    fn a_stream_breaks_off_where_its_request_says_so_and_else_by_chance_halfway() {
        let always = Streams { cut: "1".parse().unwrap(), ..Streams::default() };
        let chance = script(Wishes::default(), always, 1);
        assert_eq!((chance.events, chance.end), (5, End::Cut));
        let said = script(Wishes { cut: Some(3), ..Wishes::default() }, always, 1);
        assert_eq!((said.events, said.end), (3, End::Cut));
        let late = script(Wishes { cut: Some(30), ..Wishes::default() }, Streams::default(), 1);
        assert_eq!((late.events, late.end), (10, End::Cut));
        let never = Wishes { cut: Some(3), is_never_cut: true, ..Wishes::default() };
        assert_eq!(script(never, always, 1).end, End::Whole);
        let half = Streams { cut: "0.5".parse().unwrap(), ..Streams::default() };
        let cut = (0..1000).filter(|&seed| script(Wishes::default(), half, seed).is_cut()).count();
        assert!((400..600).contains(&cut), "{cut}");
    }

    #[test]
    fn the_chance_of_a_cut_does_not_change_the_schedule() {
        let streams = |cut: &str| Streams {
            first: "exp:10ms".parse().unwrap(),
            cut: cut.parse().unwrap(),
            ..Streams::default()
        };
        let schedules = ["0", "0.5", "1"].map(|cut| script(Wishes::default(), streams(cut), 7).schedule);
        assert!(schedules.iter().all(|schedule| *schedule == schedules[0]));
    }
}

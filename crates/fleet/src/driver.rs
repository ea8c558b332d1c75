//! The thread on which a side of a meeting lives: it carries bytes between the side and its links.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::host_event::PeerId;
use crate::links::{Input, Links, Wake};
use crate::wire::Time;
use crate::{Guest, GuestEvent, Host, HostEvent};

/// The time for sending what is left when there is nothing else to do.
const PARTING_TIME: Duration = Duration::from_secs(2);

/// A side of a meeting.
pub trait Side: Send + 'static {
    /// An event of this side.
    type Event;

    /// Takes what a link has.
    fn handle(&mut self, now: Time, input: Input);

    /// Looks at time limits.
    fn handle_timeout(&mut self, now: Time);

    /// The next bytes to send.
    fn poll_transmit(&mut self) -> Option<(PeerId, Vec<u8>)>;

    /// The next link to close.
    fn poll_close(&mut self) -> Option<PeerId>;

    /// The next event.
    fn poll_event(&mut self) -> Option<Self::Event>;

    /// The instant at which time limits are to be looked at.
    fn poll_timeout(&self) -> Duration;

    /// Returns true if there is nothing left to do.
    fn is_over(&self) -> bool;
}

impl Side for Host {
    type Event = HostEvent;

    fn handle(&mut self, now: Time, input: Input) {
        match input {
            Input::Connected(peer, from) => self.handle_connected(now.clock, peer, from),
            Input::Bytes(peer, bytes) => self.handle_bytes(now, peer, &bytes),
            Input::Closed(peer, reason) => self.handle_closed(now, peer, &reason),
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.handle_timeout(now);
    }

    fn poll_transmit(&mut self) -> Option<(PeerId, Vec<u8>)> {
        self.poll_transmit()
    }

    fn poll_close(&mut self) -> Option<PeerId> {
        self.poll_close()
    }

    fn poll_event(&mut self) -> Option<HostEvent> {
        self.poll_event()
    }

    fn poll_timeout(&self) -> Duration {
        self.poll_timeout()
    }

    fn is_over(&self) -> bool {
        self.is_over()
    }
}

/// The only link of a guest.
pub(crate) const TO_HOST: PeerId = 0;

impl Side for Guest {
    type Event = GuestEvent;

    fn handle(&mut self, now: Time, input: Input) {
        match input {
            Input::Connected(..) => {}
            Input::Bytes(_, bytes) => self.handle_bytes(now, &bytes),
            Input::Closed(_, reason) => self.handle_closed(&reason),
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.handle_timeout(now.clock);
    }

    fn poll_transmit(&mut self) -> Option<(PeerId, Vec<u8>)> {
        self.poll_transmit().map(|bytes| (TO_HOST, bytes))
    }

    fn poll_close(&mut self) -> Option<PeerId> {
        None
    }

    fn poll_event(&mut self) -> Option<GuestEvent> {
        self.poll_event()
    }

    fn poll_timeout(&self) -> Duration {
        self.poll_timeout()
    }

    fn is_over(&self) -> bool {
        self.is_over()
    }
}

/// Something to do with a side on its thread.
type Command<S> = Box<dyn FnOnce(&mut S, Time) + Send>;

/// A side of a meeting on its thread.
#[derive(Debug)]
pub struct Driver<S> {
    commands: Sender<Command<S>>,
    wake: Wake,
    thread: Option<JoinHandle<()>>,
}

impl<S: Side> Driver<S> {
    /// Starts the thread. `take` is called there with each event, and with the side as it is then.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(
        side: S,
        links: Box<dyn Links>,
        take: impl FnMut(&mut S, S::Event) + Send + 'static,
    ) -> io::Result<Self> {
        let (commands, receiver) = channel();
        let wake = links.wake();
        let thread = std::thread::Builder::new()
            .name("fleet".into())
            .spawn(move || drive(side, links, &receiver, take))?;
        Ok(Self { commands, wake, thread: Some(thread) })
    }

    /// Has something done with the side. Does nothing once the side has nothing left to do.
    pub fn tell(&self, command: impl FnOnce(&mut S, Time) + Send + 'static) {
        let _over = self.commands.send(Box::new(command));
        self.wake.wake();
    }

    /// Waits until the side has nothing left to do.
    pub fn join(mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic has said so itself.
            let _panicked = thread.join();
        }
    }
}

fn drive<S: Side>(
    mut side: S,
    mut links: Box<dyn Links>,
    commands: &Receiver<Command<S>>,
    mut take: impl FnMut(&mut S, S::Event),
) {
    let mut inputs = Vec::new();
    let mut over_since: Option<Duration> = None;
    loop {
        for (at, input) in inputs.drain(..) {
            side.handle(at, input);
        }
        while let Ok(command) = commands.try_recv() {
            command(&mut side, now());
        }
        side.handle_timeout(now());
        // An event may give the side something to say.
        loop {
            while let Some((peer, bytes)) = side.poll_transmit() {
                links.send(peer, bytes);
            }
            while let Some(peer) = side.poll_close() {
                links.close(peer);
            }
            let Some(event) = side.poll_event() else { break };
            take(&mut side, event);
        }
        let now = now().clock;
        if side.is_over() {
            let since = *over_since.get_or_insert(now);
            if links.is_idle() || now >= since + PARTING_TIME {
                return;
            }
        }
        links.wait(side.poll_timeout().saturating_sub(now), &mut inputs);
    }
}

/// Reads both clocks.
#[must_use]
pub fn now() -> Time {
    let read = |clock| {
        let time = clock_gettime(clock);
        let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
        Duration::new(seconds.unwrap_or_default(), nanos.unwrap_or_default())
    };
    Time { clock: read(ClockId::Monotonic), wall: read(ClockId::Realtime) }
}

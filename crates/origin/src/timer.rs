//! A timer that is exact to some tens of microseconds. Tokio's timers count in milliseconds, too coarse for
//! `--delay 100us` or for thousands of replies per second.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// All sleepers, and a descriptor that becomes readable when the first of them is due.
#[derive(Debug)]
pub(crate) struct Timer {
    descriptor: AsyncFd<OwnedFd>,
    sleepers: RefCell<BTreeMap<Due, Waker>>,
    next_serial: Cell<u64>,
}

/// The instant of a sleeper, with a serial number that distinguishes sleepers of the same instant.
type Due = (Instant, u64);

impl Timer {
    /// Makes a timer on the current runtime.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        #[expect(
            deprecated,
            reason = "its successor is unsafe, for the sake of types whose descriptor can change or close; \
                      that of an OwnedFd does neither"
        )]
        let descriptor = AsyncFd::new(timerfd_create(TimerfdClockId::Monotonic, flags)?)?;
        Ok(Self { descriptor, sleepers: RefCell::default(), next_serial: Cell::new(0) })
    }

    /// Sleeps until `due`, provided that [`Timer::run`] is running.
    pub(crate) fn sleep_until(self: &Rc<Self>, due: Instant) -> Sleep {
        let serial = self.next_serial.get();
        self.next_serial.set(serial + 1);
        Sleep { timer: Rc::clone(self), due: (due, serial), asleep: false }
    }

    /// Wakes sleepers as they become due; returns only when the system fails.
    pub(crate) async fn run(&self) -> io::Result<()> {
        loop {
            let mut ready = self.descriptor.readable().await?;
            let mut expirations = [0; 8];
            match rustix::io::read(self.descriptor.get_ref(), &mut expirations) {
                Ok(_) => {}
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            ready.clear_ready();
            self.wake_due(Instant::now());
        }
    }

    fn wake_due(&self, now: Instant) {
        while let Some(waker) = self.pop_due(now) {
            waker.wake();
        }
    }

    /// Removes the waker of a sleeper that is due. If there is none, sets the timer for the next.
    fn pop_due(&self, now: Instant) -> Option<Waker> {
        let mut sleepers = self.sleepers.borrow_mut();
        let first = sleepers.first_entry()?;
        let (due, _) = *first.key();
        if due > now {
            self.arm(due - now);
            return None;
        }
        Some(first.remove())
    }

    fn arm(&self, wait: Duration) {
        // All zeros would disarm the timer.
        let wait = wait.max(Duration::from_nanos(1));
        let value = Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: wait.subsec_nanos().into(),
        };
        let interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(
            self.descriptor.get_ref(),
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval: interval, it_value: value },
        )
        .expect("a timer descriptor takes any time that is not negative");
    }
}

/// A future that is ready at its instant.
#[derive(Debug)]
pub(crate) struct Sleep {
    timer: Rc<Timer>,
    due: Due,
    /// True if it is among the timer's sleepers.
    asleep: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let now = Instant::now();
        let (due, _) = self.due;
        if due <= now {
            return Poll::Ready(());
        }
        let timer = Rc::clone(&self.timer);
        let mut sleepers = timer.sleepers.borrow_mut();
        sleepers.insert(self.due, context.waker().clone());
        self.asleep = true;
        if sleepers.first_key_value().is_some_and(|(&first, _)| first == self.due) {
            timer.arm(due - now);
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if self.asleep {
            self.timer.sleepers.borrow_mut().remove(&self.due);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::LocalSet;

    use super::*;

    fn with_timer<F: Future<Output = ()>>(test: impl FnOnce(Rc<Timer>) -> F) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async {
            let timer = Rc::new(Timer::new().unwrap());
            let driver = Rc::clone(&timer);
            tokio::task::spawn_local(async move { driver.run().await });
            test(timer).await;
        });
    }

    #[test]
    fn sleepers_wake_in_the_order_of_their_instants_and_never_early() {
        with_timer(async |timer| {
            let start = Instant::now();
            let order = Rc::new(RefCell::new(Vec::new()));
            let tasks: Vec<_> = [30, 10, 20, 10]
                .into_iter()
                .map(|millis| {
                    let (timer, order) = (Rc::clone(&timer), Rc::clone(&order));
                    tokio::task::spawn_local(async move {
                        let due = start + Duration::from_millis(millis);
                        timer.sleep_until(due).await;
                        assert!(Instant::now() >= due);
                        order.borrow_mut().push(millis);
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(*order.borrow(), [10, 10, 20, 30]);
        });
    }

    #[test]
    fn a_sleeper_that_gives_up_is_forgotten() {
        with_timer(async |timer| {
            let far = Instant::now() + Duration::from_secs(3600);
            let mut sleep = timer.sleep_until(far);
            tokio::select! {
                biased;
                () = &mut sleep => panic!("an hour has not passed"),
                () = std::future::ready(()) => {}
            }
            assert_eq!(timer.sleepers.borrow().len(), 1);
            drop(sleep);
            assert!(timer.sleepers.borrow().is_empty());
        });
    }

    #[test]
    fn what_is_due_already_does_not_sleep() {
        with_timer(async |timer| timer.sleep_until(Instant::now()).await);
    }
}

//! The state that all connections of a server share.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::Instant;

use hyper::header::HeaderValue;
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;

use crate::bucket::Bucket;
use crate::config::Config;
use crate::counts::Counts;
use crate::timer::Timer;
use crate::tls::context::Acceptor;

/// The state that all connections of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    /// Makes connections speak TLS, if configured.
    pub(crate) acceptor: Option<Acceptor>,
    /// The value of `Alt-Svc` in replies over HTTP/1 and HTTP/2.
    pub(crate) alt_svc: Option<HeaderValue>,
    pub(crate) counts: RefCell<Counts>,
    pub(crate) random: RefCell<Pcg64Mcg>,
    pub(crate) bucket: Option<RefCell<Bucket>>,
    pub(crate) timer: Rc<Timer>,
    open: Cell<u64>,
}

impl Shared {
    pub(crate) fn new(config: Config, acceptor: Option<Acceptor>) -> io::Result<Self> {
        Ok(Self {
            counts: RefCell::default(),
            random: RefCell::new(Pcg64Mcg::seed_from_u64(config.seed)),
            bucket: config.capacity.map(|capacity| RefCell::new(Bucket::new(capacity, Instant::now()))),
            timer: Rc::new(Timer::new()?),
            open: Cell::new(0),
            acceptor,
            alt_svc: None,
            config,
        })
    }

    /// Announces HTTP/3 on a port of the same address (RFC 7838).
    #[must_use]
    pub(crate) fn announcing_http3(mut self, port: u16) -> Self {
        let value = HeaderValue::try_from(format!("h3=\":{port}\"; ma={ALT_SVC_SECONDS}"));
        self.alt_svc = Some(value.expect("a number makes a valid field value"));
        self
    }

    /// Returns the counts up to now.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = self.counts.borrow().clone();
        if let Some(acceptor) = &self.acceptor {
            counts.tls.compressed_certificates = acceptor.compressed_certificates();
        }
        counts
    }

    pub(crate) fn is_full(&self) -> bool {
        self.config.limits.connections.is_some_and(|most| self.open.get() >= u64::from(most))
    }

    /// Counts a connection, which is open until the result is dropped.
    pub(crate) fn note_open(self: &Rc<Self>) -> Open {
        self.open.set(self.open.get() + 1);
        let mut counts = self.counts.borrow_mut();
        counts.connections += 1;
        counts.connections_open_max = counts.connections_open_max.max(self.open.get());
        Open(Rc::clone(self))
    }
}

/// The seconds for which clients may remember where HTTP/3 is spoken: a day.
const ALT_SVC_SECONDS: u32 = 86_400;

/// An open connection, for the count of them.
#[derive(Debug)]
pub(crate) struct Open(Rc<Shared>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get() - 1);
    }
}

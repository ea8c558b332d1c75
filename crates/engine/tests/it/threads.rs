//! Workers on threads of their own, over real sockets of this machine: what becomes of the others when one breaks.

use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use httperf_engine::{Observation, Observer, Silent, StopRequest, run};
use httperf_plan::{Arrivals, Endpoint, Plan};
use httperf_testkit::sim::{Edit, connections, nonzero};
use httperf_testkit::tcp::listen;

/// A run of a minute on so many threads, against a server that accepts and says nothing.
fn minute(server: &TcpListener, threads: u32) -> Plan {
    let mut plan = connections(1_000_000, 1, 1).with(|plan| {
        plan.arrivals = Arrivals::Deterministic { period: 0.05 };
        plan.threads = Some(nonzero(threads));
        plan.runtime = Some(Duration::from_secs(60));
    });
    plan.change(|plan| plan.targets[0].endpoint = Endpoint::Tcp(server.local_addr().expect("it listens")));
    plan
}

/// Panics when it is told of an interval.
struct Panics;

impl Observer for Panics {
    fn observe(&mut self, what: Observation<'_>) {
        assert!(!matches!(what, Observation::Interval { .. }), "it was told of an interval");
    }
}

/// Counts workers that have ended.
struct Ended<'a>(&'a AtomicU32);

impl Observer for Ended<'_> {
    fn observe(&mut self, _: Observation<'_>) {}

    fn ended(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_worker_that_panics_ends_the_others() {
    let (server, _) = listen();
    let (plan, stop) = (minute(&server, 3), StopRequest::new().expect("a descriptor is free"));
    let ended = AtomicU32::new(0);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let observers: &mut [&mut (dyn Observer + Send)] =
            &mut [&mut Ended(&ended), &mut Panics, &mut Ended(&ended)];
        run(&plan, observers, &stop).map(drop)
    }));
    let panic = outcome.expect_err("the panic is passed on");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"it was told of an interval"));
    assert!(stop.is_asked());
    assert_eq!(ended.into_inner(), 2, "the others have ended before");
}

#[test]
fn a_run_that_is_stopped_before_it_starts_offers_nothing_more() {
    let (server, _) = listen();
    let (plan, stop) = (minute(&server, 2), StopRequest::new().expect("a descriptor is free"));
    stop.ask();
    let summary = run(&plan, &mut [&mut Silent, &mut Silent], &stop).expect("the workers can be set up");
    assert!(summary.connections <= 1, "{}", summary.connections);
    assert_eq!(summary.usage.workers.len(), 2);
}

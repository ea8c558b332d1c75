//! Offers of HTTP/3 in replies (`Alt-Svc`, RFC 7838), which new connections follow over QUIC.
//!
//! ```text
//!   reply ──► learn ──► what is known of the target ──► open: over QUIC, or over TCP
//!                                    ▲
//!             handle_failure ────────┘ the server is not reached there
//! ```

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use httperf_plan::{Plan, Target};
use httperf_proto::alt_svc::{AltSvc, Alternative};
use httperf_stats::Instant;

use super::Connections;
use crate::Network;
use crate::worker::ConnectionKey;
use crate::worker::run::Run;

/// A reply of this status says nothing about alternatives (RFC 7838, section 6).
const MISDIRECTED: u16 = 421;

/// The number of offers of a target that may turn out to lead nowhere. After that, none is followed.
const BROKEN_MAX: usize = 8;

/// The offers of all targets.
#[derive(Debug)]
pub(super) struct Alternatives {
    /// The reason why none is followed, if none is.
    obstacle: Option<String>,
    /// Those of each target, in the order of the plan's.
    targets: Vec<Known>,
}

/// The offer of a target.
#[derive(Debug, Default)]
struct Known {
    /// The value of the field that was read last. Most replies repeat it.
    field: Vec<u8>,
    offer: Option<Offer>,
    /// The instant at which that field came last.
    heard: Instant,
    /// The ports at which the server was not reached over QUIC.
    broken: Vec<u16>,
}

/// HTTP/3 at a port of the target's own host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offer {
    port: u16,
    max_age: Duration,
}

/// The changes that a reply made.
#[derive(Debug, Default, PartialEq, Eq)]
struct News {
    /// The port of an offer.
    port: Option<u16>,
    is_withdrawn: bool,
    /// An offer on another host.
    other_host: Option<String>,
}

impl Alternatives {
    /// `obstacle`: the reason why no offer is followed, if none is.
    pub(super) fn new(plan: &Plan, obstacle: Option<String>) -> Self {
        Self { obstacle, targets: plan.targets.iter().map(|_| Known::default()).collect() }
    }

    /// Returns the address at which a target is reached over QUIC, if it is: the endpoint's own, with the port of the offer.
    fn address(
        &self,
        place: usize,
        target: &Target,
        endpoint: SocketAddr,
        now: Instant,
    ) -> Option<SocketAddr> {
        let known = &self.targets[place];
        let Offer { port, max_age } = known.offer.filter(|_| self.obstacle.is_none())?;
        let holds = now - known.heard < max_age;
        let is_broken = known.broken.len() >= BROKEN_MAX || known.broken.contains(&port);
        // Where the server's own port leads elsewhere (--connect-to), it leads there over QUIC as well.
        let port = if target.port() == Some(port) { endpoint.port() } else { port };
        (holds && !is_broken).then(|| SocketAddr::new(endpoint.ip(), port))
    }

    /// Returns the port of the offer to a target.
    fn port(&self, place: usize) -> Option<u16> {
        self.targets[place].offer.map(|offer| offer.port)
    }

    /// A reply of a target has a field with this value.
    fn learn(&mut self, place: usize, target: &Target, value: &[u8], now: Instant) -> News {
        let known = &mut self.targets[place];
        if known.field == value {
            known.heard = now;
            return News::default();
        }
        let Some(read) = AltSvc::parse(value) else { return News::default() };
        known.field.clear();
        known.field.extend_from_slice(value);
        known.heard = now;
        let alternatives = match read {
            AltSvc::Clear => Vec::new(),
            AltSvc::Alternatives(alternatives) => alternatives,
        };
        let (own, others): (Vec<_>, Vec<_>) = alternatives
            .into_iter()
            .filter(|alternative| alternative.protocol == b"h3")
            .partition(|alternative| is_host_of(target, &alternative.host));
        // The preferred one that has not failed.
        let works = |alternative: &&Alternative| !known.broken.contains(&alternative.port);
        let chosen = own.iter().find(works).or(own.first());
        let offer = chosen.map(|&Alternative { port, max_age, .. }| Offer { port, max_age });
        let before = std::mem::replace(&mut known.offer, offer);
        News {
            port: offer.map(|offer| offer.port),
            is_withdrawn: before.is_some() && offer.is_none(),
            other_host: others.first().map(|other| format!("{}:{}", other.host, other.port)),
        }
    }

    /// The server was not reached over QUIC at this port. Returns whether that is new.
    fn handle_failure(&mut self, place: usize, port: u16) -> bool {
        let known = &mut self.targets[place];
        let is_new = !known.broken.contains(&port) && known.broken.len() < BROKEN_MAX;
        if is_new {
            known.broken.push(port);
            // If the same field comes again, another alternative in it may do.
            known.field.clear();
        }
        is_new
    }
}

/// Returns whether a host is that of a target: nothing, its name or its address.
fn is_host_of(target: &Target, host: &str) -> bool {
    let authority = target.authority.as_ref().map(|authority| &authority.host);
    let named = [Some(without_port(&target.host)), target.tls_name.as_deref(), authority.map(String::as_str)];
    let is_named = named.into_iter().flatten().any(|name| name.eq_ignore_ascii_case(host));
    let address = target.address().map(|address| match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    });
    host.is_empty() || is_named || address.as_deref() == Some(host)
}

/// Returns the host in a value of `Host`.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

impl<N: Network> Connections<N> {
    /// Returns the address to which a new connection to a TCP endpoint goes over QUIC, and the port of the offer for which
    /// it does, if for one; `None` if it goes over TCP.
    pub(super) fn over_quic(
        &mut self,
        place: usize,
        endpoint: SocketAddr,
        plan: &Plan,
    ) -> Option<(SocketAddr, Option<u16>)> {
        self.quic.as_ref()?;
        let Some(alternatives) = &self.alternatives else { return Some((endpoint, None)) };
        let port = alternatives.port(place)?;
        let now = self.network.now();
        let address = alternatives.address(place, &plan.targets[place], endpoint, now)?;
        Some((address, Some(port)))
    }

    /// Learns from the header block of a reply.
    #[inline(never)]
    pub(super) fn learn_alternatives(
        &mut self,
        key: ConnectionKey,
        status: u16,
        now: Instant,
        run: &mut Run<'_>,
    ) {
        let (Some(alternatives), Some(connection)) = (&mut self.alternatives, self.connections.get_mut(key))
        else {
            return;
        };
        let value = connection.engine.alt_svc();
        if value.is_empty() || status == MISDIRECTED {
            return;
        }
        let place = connection.target;
        let News { port, is_withdrawn, other_host } =
            alternatives.learn(place, &run.plan.targets[place], value, now);
        if port.is_none() && !is_withdrawn && other_host.is_none() {
            return;
        }
        let seen = u64::try_from((now - run.start()).as_nanos()).unwrap_or(u64::MAX);
        run.recorder.alt_svc(|figures| {
            if let Some(port) = port {
                figures.add_offer(seen, port);
                figures.obstacle.clone_from(&alternatives.obstacle);
            }
            figures.withdrawn += u64::from(is_withdrawn);
            if figures.other_host.is_none() {
                figures.other_host = other_host;
            }
        });
    }

    /// A connection over QUIC did not come to be. If it was opened for an offer, that is not followed any more.
    pub(super) fn alternative_failed(
        &mut self,
        place: usize,
        port: Option<u16>,
        due: Instant,
        reason: Cow<'static, str>,
        run: &mut Run<'_>,
    ) {
        let (Some(alternatives), Some(port)) = (&mut self.alternatives, port) else { return };
        run.recorder.http2(due, |http2| http2.alt_svc.get_or_insert_default().failures.add(reason));
        if alternatives.handle_failure(place, port) {
            run.recorder.alt_svc(|figures| figures.broken += 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use httperf_plan::{Authority, Endpoint};
    use httperf_testkit::sim::connections;

    use super::*;

    fn endpoint() -> SocketAddr {
        "192.0.2.1:8443".parse().unwrap()
    }

    fn target() -> Target {
        Target::direct("a.example:8443", Some("a.example".to_owned()), Endpoint::Tcp(endpoint()))
    }

    fn at(seconds: u64) -> Instant {
        Instant::default() + Duration::from_secs(seconds)
    }

    fn fresh() -> Alternatives {
        Alternatives::new(&connections(1, 1, 1), None)
    }

    fn port(alternatives: &Alternatives, now: Instant) -> Option<u16> {
        alternatives.address(0, &target(), endpoint(), now).map(|address| address.port())
    }

    #[test]
    fn an_offer_on_the_own_host_is_followed() {
        for (field, expected) in [
            ("h3=\":8443\"", Some(8443)),
            ("h3=\":443\"; ma=60", Some(443)),
            ("h3=\"A.EXAMPLE:1\"", Some(1)),
            ("h3=\"192.0.2.1:2\"", Some(2)),
            ("h2=\":1\", h3=\":3\", h3=\":4\"", Some(3)),
            ("h3=\"b.example:443\", h3=\":5\"", Some(5)),
            ("h3=\"b.example:443\"", None),
            ("h3-29=\":443\", h2=\":443\"", None),
            ("h3=\":443\"; ma=0", None),
            ("h3", None),
            ("clear", None),
        ] {
            let mut alternatives = fresh();
            alternatives.learn(0, &target(), field.as_bytes(), at(5));
            assert_eq!(port(&alternatives, at(5)), expected, "{field}");
        }
    }

    #[test]
    fn another_host_is_told() {
        let other = |field: &str| fresh().learn(0, &target(), field.as_bytes(), at(0)).other_host;
        assert_eq!(
            other("h3=\":1\", h3=\"b.example:443\", h3=\"c.example:1\"").as_deref(),
            Some("b.example:443")
        );
        assert_eq!(other("h2=\"b.example:443\", h3=\":1\""), None);
    }

    #[test]
    fn an_offer_holds_as_long_as_it_says_from_when_it_came_last() {
        let mut alternatives = fresh();
        let field = b"h3=\":1\"; ma=10";
        assert_eq!(alternatives.learn(0, &target(), field, at(0)).port, Some(1));
        assert_eq!((port(&alternatives, at(9)), port(&alternatives, at(10))), (Some(1), None));
        assert_eq!(alternatives.learn(0, &target(), field, at(8)), News::default());
        assert_eq!((port(&alternatives, at(17)), port(&alternatives, at(18))), (Some(1), None));
        // A field that is malformed changes nothing.
        alternatives.learn(0, &target(), b"h3=", at(17));
        assert_eq!((port(&alternatives, at(17)), port(&alternatives, at(18))), (Some(1), None));
    }

    #[test]
    fn an_offer_may_be_withdrawn_and_made_again() {
        let mut alternatives = fresh();
        let mut learn = |field: &[u8]| {
            let news = alternatives.learn(0, &target(), field, at(0));
            (news.is_withdrawn, port(&alternatives, at(0)))
        };
        assert_eq!(learn(b"clear"), (false, None));
        assert_eq!(learn(b"h3=\":1\""), (false, Some(1)));
        assert_eq!(learn(b"clear"), (true, None));
        assert_eq!(learn(b"h3=\":1\""), (false, Some(1)));
        assert_eq!(learn(b"h2=\":1\""), (true, None));
    }

    #[test]
    fn an_offer_that_leads_nowhere_is_not_followed_again() {
        let mut alternatives = fresh();
        let field = b"h3=\":1\", h3=\":2\"";
        alternatives.learn(0, &target(), field, at(0));
        assert!(alternatives.handle_failure(0, 1) && !alternatives.handle_failure(0, 1));
        assert_eq!(port(&alternatives, at(0)), None);
        // The other one is tried when the server offers both again.
        alternatives.learn(0, &target(), field, at(0));
        assert_eq!(port(&alternatives, at(0)), Some(2));
        assert!(alternatives.handle_failure(0, 2));
        alternatives.learn(0, &target(), field, at(0));
        assert_eq!(port(&alternatives, at(0)), None);
        // A server that names a new port each time is not believed for ever.
        for number in 3..100 {
            alternatives.learn(0, &target(), format!("h3=\":{number}\"").as_bytes(), at(0));
            let is_tried = port(&alternatives, at(0)).is_some();
            assert_eq!(is_tried, number <= BROKEN_MAX as u16, "{number}");
            assert_eq!(alternatives.handle_failure(0, number), is_tried, "{number}");
        }
    }

    #[test]
    fn a_port_that_leads_elsewhere_does_so_over_quic_too() {
        let authority = Some(Authority { host: "a.example".to_owned(), port: 443 });
        let target = Target { authority, ..target() };
        let mut alternatives = fresh();
        for (field, expected) in [("h3=\":443\"", 8443), ("h3=\":444\"", 444)] {
            alternatives.learn(0, &target, field.as_bytes(), at(0));
            let address = alternatives.address(0, &target, endpoint(), at(0));
            assert_eq!(address, Some(SocketAddr::new(endpoint().ip(), expected)), "{field}");
        }
    }

    #[test]
    fn a_plan_that_is_bound_to_tcp_follows_nothing() {
        let mut alternatives =
            Alternatives::new(&connections(1, 1, 1), Some("a proxy is about TCP".to_owned()));
        assert_eq!(alternatives.learn(0, &target(), b"h3=\":1\"", at(0)).port, Some(1));
        assert_eq!(port(&alternatives, at(0)), None);
    }

    #[test]
    fn hosts_may_be_addresses() {
        let address: SocketAddr = "[2001:db8::1]:8443".parse().unwrap();
        let target = Target::direct("[2001:db8::1]:8443", None, Endpoint::Tcp(address));
        for (host, expected) in
            [("[2001:db8::1]", true), ("", true), ("[2001:db8::2]", false), ("a.example", false)]
        {
            assert_eq!(is_host_of(&target, host), expected, "{host}");
        }
    }
}

//! The number of a call in its run. Its request follows from that, and from nothing else.

use httperf_load::requests::{Material, Requests};
use httperf_plan::{Plan, Shard, UNLIMITED, UriSource, Workload};

/// Gives calls their numbers.
#[derive(Debug)]
pub(super) struct Numbers {
    order: Order,
    shard: Shard,
    /// Numbers given so far.
    given: u64,
}

/// The calls that were made for an arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issued {
    arrival: u64,
    count: u64,
}

impl Issued {
    /// None of the arrival with this number.
    pub(super) fn of(arrival: u64) -> Self {
        Self { arrival, count: 0 }
    }
}

/// The order that numbers follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The order in which calls are made, as with the classic tool.
    Made,
    /// The same, while other workers number calls too: each leaves out the numbers of the others.
    MadeApart,
    /// The schedule: the `k`-th call of arrival `i` has the number `i · per_arrival + k`, whoever makes it and when.
    Schedule { per_arrival: u64 },
}

impl Numbers {
    pub(super) fn new(plan: &Plan, shard: Shard) -> Self {
        let per_arrival = plan.calls_per_arrival();
        let is_pool = matches!(plan.workload, Workload::Calls(_));
        // The target of an arrival follows from its number, and has to be that of its request.
        let names_targets = matches!(plan.uris, UriSource::Requests(_)) && plan.targets.len() > 1;
        let order = match (plan.threads.is_some() || is_pool || names_targets, per_arrival) {
            (false, _) => Order::Made,
            (true, UNLIMITED) => Order::MadeApart,
            (true, per_arrival) => Order::Schedule { per_arrival },
        };
        Self { order, shard, given: 0 }
    }

    /// Returns the number of the next call of an arrival, and counts the call.
    pub(super) fn next(&mut self, issued: &mut Issued) -> u64 {
        let made = self.shard.nth(self.given);
        self.given += 1;
        let Issued { arrival, count } = *issued;
        issued.count += 1;
        match self.order {
            Order::Made | Order::MadeApart => made,
            Order::Schedule { per_arrival } => arrival.wrapping_mul(per_arrival).wrapping_add(count),
        }
    }

    /// Returns the material of the call with this number, the last that was given; `None` when the requests are used up.
    pub(super) fn material<'r>(&self, number: u64, requests: &'r mut Requests<'_>) -> Option<Material<'r>> {
        match self.order {
            Order::Made => requests.next(number),
            Order::MadeApart | Order::Schedule { .. } => requests.at(number),
        }
    }

    /// Returns whether no request is left for the arrival with this number.
    pub(super) fn are_used_up(
        &self,
        next_arrival: impl FnOnce() -> Option<u64>,
        requests: &Requests<'_>,
    ) -> bool {
        let Some(count) = requests.count() else { return false };
        match self.order {
            Order::Made | Order::MadeApart => self.shard.nth(self.given) >= count,
            Order::Schedule { per_arrival } => {
                next_arrival().is_none_or(|arrival| arrival.saturating_mul(per_arrival) >= count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use httperf_testkit::sim::{Edit, at_once, connections, listed, nonzero};

    use super::*;

    fn list(count: usize) -> UriSource {
        UriSource::List { uris: listed((0..count).map(|n| format!("/{n}").into_bytes())), wrap: false }
    }

    #[test]
    fn the_numbers_of_a_schedule_do_not_depend_on_the_order_of_calls() {
        let mut plan = connections(10, 3, 1);
        plan.change(|plan| (plan.arrivals, plan.threads) = (at_once(2), Some(nonzero(2))));
        let next =
            |numbers: &mut Numbers, arrival: u64, count: u64| numbers.next(&mut Issued { arrival, count });
        let mut numbers = Numbers::new(&plan, Shard { index: 1, count: 2 });
        assert_eq!(
            [(5, 0), (3, 2), (5, 1)].map(|(arrival, count)| next(&mut numbers, arrival, count)),
            [15, 11, 16]
        );
        plan.change(|plan| plan.threads = None);
        let mut numbers = Numbers::new(&plan, Shard::WHOLE);
        assert_eq!(
            [(5, 0), (3, 2), (5, 1)].map(|(arrival, count)| next(&mut numbers, arrival, count)),
            [0, 1, 2]
        );
    }

    #[test]
    fn a_list_is_used_up_with_the_arrival_whose_first_call_is_beyond_its_end() {
        let mut plan = connections(10, 3, 1);
        plan.change(|plan| {
            (plan.arrivals, plan.threads, plan.uris) = (at_once(2), Some(nonzero(2)), list(7));
        });
        let requests = Requests::new(&plan);
        let numbers = Numbers::new(&plan, Shard::WHOLE);
        assert!(!numbers.are_used_up(|| Some(2), &requests));
        assert!(numbers.are_used_up(|| Some(3), &requests));
        assert!(numbers.are_used_up(|| None, &requests));
    }
}

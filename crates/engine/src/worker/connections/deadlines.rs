//! One deadline per connection. Most of them never pass.
//!
//! A deadline is set when a connection starts and postponed by every step it takes; it hardly ever fires. Postponing
//! it therefore costs one store: the connection stays filed under the earlier instant and is filed again when that
//! passes. New connections are filed at the end of a queue, since their limits are equally long; only those filed
//! again go to a heap. Removed connections leave nothing behind except heap entries, at most one for each connection
//! that outlived a time limit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use httperf_stats::Instant;

/// The deadlines of all connections, by key: 64 bits whose low half is a small index, unique among open connections.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    entries: Vec<Entry>,
    /// The first and the last entry of the queue.
    ends: Option<(u32, u32)>,
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    key: u64,
    deadline: Option<Instant>,
    filed: Filed,
}

/// The place of an entry and the instant under which it is filed, which is never later than its deadline.
#[derive(Clone, Copy, Debug, Default)]
enum Filed {
    #[default]
    Nowhere,
    Queue {
        at: Instant,
        previous: Option<u32>,
        next: Option<u32>,
    },
    Heap {
        at: Instant,
    },
}

impl Deadlines {
    /// Sets or clears a deadline.
    pub(crate) fn set(&mut self, key: u64, deadline: Option<Instant>) {
        let index = index_of(key);
        let Some(deadline) = deadline else {
            // The entry stays filed: the next deadline is most likely later than the instant it is filed under.
            if let Some(entry) = self.entries.get_mut(index as usize) {
                entry.deadline = None;
            }
            return;
        };
        if index as usize >= self.entries.len() {
            self.entries.resize(index as usize + 1, Entry::default());
        }
        let entry = &mut self.entries[index as usize];
        (entry.key, entry.deadline) = (key, Some(deadline));
        match entry.filed {
            Filed::Queue { at, .. } | Filed::Heap { at } if at <= deadline => {}
            Filed::Queue { .. } => {
                self.unlink(index);
                self.file_in_heap(index, deadline);
            }
            Filed::Heap { .. } => self.file_in_heap(index, deadline),
            Filed::Nowhere => self.file(index, deadline),
        }
    }

    /// Returns the deadline of a key, unless it has none or it was returned as expired.
    pub(crate) fn get(&self, key: u64) -> Option<Instant> {
        self.entries.get(index_of(key) as usize).and_then(|entry| entry.deadline)
    }

    /// Removes a key. Its index may then be used for another connection.
    pub(crate) fn remove(&mut self, key: u64) {
        let index = index_of(key);
        if let Some(entry) = self.entries.get(index as usize) {
            if matches!(entry.filed, Filed::Queue { .. }) {
                self.unlink(index);
            }
            self.entries[index as usize] = Entry::default();
        }
    }

    /// Returns an instant not later than the next deadline; `None` if there are no deadlines.
    pub(crate) fn next(&self) -> Option<Instant> {
        let queued = self.ends.map(|(first, _)| self.filed_at(first).expect("it is in the queue"));
        let heaped = self.heap.peek().map(|Reverse((at, _))| *at);
        match (queued, heaped) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Returns a key whose deadline has passed. Call until it returns `None`.
    pub(crate) fn pop_expired(&mut self, now: Instant) -> Option<u64> {
        while let Some((first, _)) = self.ends {
            if self.filed_at(first).is_some_and(|at| at > now) {
                break;
            }
            self.unlink(first);
            if self.expire_or_refile(first, now) {
                return Some(self.entries[first as usize].key);
            }
        }
        while let Some(&Reverse((at, index))) = self.heap.peek() {
            if at > now {
                break;
            }
            self.heap.pop();
            // The heap may still have entries of connections that were removed, or filed again since.
            let current =
                matches!(self.entries[index as usize].filed, Filed::Heap { at: filed } if filed == at);
            if current {
                self.entries[index as usize].filed = Filed::Nowhere;
                if self.expire_or_refile(index, now) {
                    return Some(self.entries[index as usize].key);
                }
            }
        }
        None
    }

    fn filed_at(&self, index: u32) -> Option<Instant> {
        match self.entries[index as usize].filed {
            Filed::Nowhere => None,
            Filed::Queue { at, .. } | Filed::Heap { at } => Some(at),
        }
    }

    /// Returns true if the deadline of an entry that was just taken out has passed; otherwise files it again.
    fn expire_or_refile(&mut self, index: u32, now: Instant) -> bool {
        match self.entries[index as usize].deadline {
            None => false,
            Some(deadline) if deadline <= now => {
                self.entries[index as usize].deadline = None;
                true
            }
            Some(deadline) => {
                self.file_in_heap(index, deadline);
                false
            }
        }
    }

    /// Files an entry at the end of the queue if that keeps the queue in order, otherwise in the heap.
    fn file(&mut self, index: u32, at: Instant) {
        let last = self.ends.map(|(_, last)| last);
        if last.is_some_and(|last| self.filed_at(last).is_some_and(|latest| latest > at)) {
            self.file_in_heap(index, at);
            return;
        }
        self.entries[index as usize].filed = Filed::Queue { at, previous: last, next: None };
        match (last, &mut self.ends) {
            (Some(last), Some(ends)) => {
                ends.1 = index;
                if let Filed::Queue { next, .. } = &mut self.entries[last as usize].filed {
                    *next = Some(index);
                }
            }
            _ => self.ends = Some((index, index)),
        }
    }

    fn file_in_heap(&mut self, index: u32, at: Instant) {
        self.entries[index as usize].filed = Filed::Heap { at };
        self.heap.push(Reverse((at, index)));
    }

    fn unlink(&mut self, index: u32) {
        let Filed::Queue { previous, next, .. } = self.entries[index as usize].filed else { return };
        self.entries[index as usize].filed = Filed::Nowhere;
        if let Some(previous) = previous
            && let Filed::Queue { next: link, .. } = &mut self.entries[previous as usize].filed
        {
            *link = next;
        }
        if let Some(next) = next
            && let Filed::Queue { previous: link, .. } = &mut self.entries[next as usize].filed
        {
            *link = previous;
        }
        let (first, last) = self.ends.expect("the queue holds what is filed in it");
        self.ends = match (first == index, last == index) {
            (true, true) => None,
            (true, false) => next.map(|next| (next, last)),
            (false, true) => previous.map(|previous| (first, previous)),
            (false, false) => Some((first, last)),
        };
    }
}

fn index_of(key: u64) -> u32 {
    key as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms)
    }

    #[test]
    fn a_deadline_that_moved_later_fires_later() {
        let mut deadlines = Deadlines::default();
        deadlines.set(0, Some(at(10)));
        deadlines.set(1, Some(at(12)));
        deadlines.set(0, Some(at(20)));
        assert_eq!(deadlines.next(), Some(at(10)));
        assert_eq!(deadlines.pop_expired(at(11)), None);
        assert_eq!(deadlines.pop_expired(at(15)), Some(1));
        assert_eq!(deadlines.pop_expired(at(19)), None);
        assert_eq!(deadlines.pop_expired(at(20)), Some(0));
        assert_eq!(deadlines.next(), None);
    }

    #[test]
    fn nothing_is_kept_for_connections_that_came_and_went() {
        let mut deadlines = Deadlines::default();
        for turn in 0..10_000 {
            deadlines.set(0, Some(at(turn + 1_000_000)));
            deadlines.remove(0);
        }
        assert_eq!((deadlines.entries.len(), deadlines.heap.len()), (1, 0));
        assert_eq!(deadlines.next(), None);
    }

    #[derive(Clone, Debug)]
    enum Action {
        Set(u64, u64),
        Clear(u64),
        Remove(u64),
        Advance(u64),
    }

    fn action() -> impl Strategy<Value = Action> {
        prop_oneof![
            4 => (0u64..8, 0u64..50).prop_map(|(index, delay)| Action::Set(index, delay)),
            1 => (0u64..8).prop_map(Action::Clear),
            1 => (0u64..8).prop_map(Action::Remove),
            2 => (0u64..30).prop_map(Action::Advance),
        ]
    }

    proptest! {
        /// Compares with a map of deadlines that is searched from end to end.
        #[test]
        fn the_same_deadlines_pass_as_in_a_simple_model(actions in prop::collection::vec(action(), 1..200)) {
            let (mut deadlines, mut model) = (Deadlines::default(), BTreeMap::new());
            let mut now = 0;
            for action in actions {
                match action {
                    Action::Set(index, delay) => {
                        deadlines.set(index, Some(at(now + delay)));
                        model.insert(index, now + delay);
                    }
                    Action::Clear(index) => {
                        deadlines.set(index, None);
                        model.remove(&index);
                    }
                    Action::Remove(index) => {
                        deadlines.remove(index);
                        model.remove(&index);
                    }
                    Action::Advance(by) => {
                        now += by;
                        let mut fired: Vec<u64> =
                            std::iter::from_fn(|| deadlines.pop_expired(at(now))).collect();
                        fired.sort_unstable();
                        let due: Vec<u64> =
                            model.iter().filter(|&(_, &at)| at <= now).map(|(&index, _)| index).collect();
                        model.retain(|_, at| *at > now);
                        prop_assert_eq!(fired, due);
                    }
                }
                let earliest = model.values().min();
                if let Some(&earliest) = earliest {
                    prop_assert!(deadlines.next().is_some_and(|next| next <= at(earliest)));
                }
            }
        }
    }
}

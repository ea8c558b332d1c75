//! Things with consecutive numbers, of which most go soon: the streams of a connection.

use std::collections::VecDeque;

/// Things that are numbered as they come, and go in any order. In steady state nothing is allocated, and one that stays long
/// does not make it grow.
#[derive(Debug)]
pub(crate) struct Numbered<T> {
    /// What is there, and free slots.
    slots: Vec<Option<T>>,
    free: Vec<u32>,
    /// The slot of each number from `base` on, [`NONE`] if it is gone. The first is there.
    index: VecDeque<u32>,
    base: u64,
    /// What is left from before `base`, with its slot, in order.
    stragglers: Vec<(u64, u32)>,
    len: usize,
}

/// The slot of what is gone.
const NONE: u32 = u32::MAX;

/// The least size at which the index is shortened; it also must be four times the number of things.
const INDEX_SIZE_MIN: usize = 1024;

impl<T> Numbered<T> {
    pub(crate) fn new() -> Self {
        Self::starting_at(0)
    }

    /// The first thing will have this number.
    pub(crate) fn starting_at(base: u64) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            index: VecDeque::new(),
            base,
            stragglers: Vec::new(),
            len: 0,
        }
    }

    /// Returns the number of the next thing.
    pub(crate) fn next(&self) -> u64 {
        self.base + self.index.len() as u64
    }

    /// Returns how many things there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a thing with the next number.
    pub(crate) fn push(&mut self, thing: T) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(thing);
                slot
            }
            None => {
                self.slots.push(Some(thing));
                self.slots.len() as u32 - 1
            }
        };
        self.index.push_back(slot);
        self.len += 1;
        if self.index.len() > INDEX_SIZE_MIN && self.index.len() / 4 > self.len {
            self.leave_stragglers();
        }
    }

    /// Moves the first three quarters of the index to the stragglers, so that it is long before this has to be done again.
    fn leave_stragglers(&mut self) {
        for _ in 0..self.index.len() / 4 * 3 {
            let slot = self.index.pop_front().expect("the index is longer");
            if slot != NONE {
                self.stragglers.push((self.base, slot));
            }
            self.base += 1;
        }
        self.trim();
    }

    /// Drops what is gone from the front of the index.
    fn trim(&mut self) {
        while self.index.front() == Some(&NONE) {
            self.index.pop_front();
            self.base += 1;
        }
    }

    /// Returns the thing with this number, if it is there.
    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        self.slots[self.slot(number)?].as_ref()
    }

    /// Returns the same for changes.
    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let slot = self.slot(number)?;
        self.slots[slot].as_mut()
    }

    /// Removes the thing with this number, if it is there.
    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let slot = self.slot(number)?;
        let thing = self.slots[slot].take()?;
        self.free.push(slot as u32);
        self.len -= 1;
        if let Some(place) = number.checked_sub(self.base) {
            self.index[place as usize] = NONE;
            self.trim();
        } else if let Ok(place) = self.straggler(number) {
            self.stragglers.remove(place);
        }
        Some(thing)
    }

    /// Returns all things with their numbers, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let recent = (self.base..).zip(self.index.iter().copied());
        let all = self.stragglers.iter().copied().chain(recent);
        all.filter_map(|(number, slot)| Some((number, self.slots.get(slot as usize)?.as_ref()?)))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().flatten()
    }

    fn slot(&self, number: u64) -> Option<usize> {
        let Some(place) = number.checked_sub(self.base) else {
            return self.straggler(number).ok().map(|place| self.stragglers[place].1 as usize);
        };
        let slot = *self.index.get(usize::try_from(place).ok()?)?;
        (slot != NONE).then_some(slot as usize)
    }

    fn straggler(&self, number: u64) -> Result<usize, usize> {
        self.stragglers.binary_search_by_key(&number, |&(its, _)| its)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_stays_long_does_not_make_the_index_grow() {
        let mut things = Numbered::new();
        let lasting = [0, 1, 1000, 50_000];
        for number in 0..100_000_u64 {
            assert_eq!(things.next(), number);
            things.push(number);
            if !lasting.contains(&number) {
                assert_eq!(things.remove(number), Some(number));
            }
            assert!(things.index.len() <= INDEX_SIZE_MIN + 1, "{}", things.index.len());
        }
        assert_eq!(things.iter().map(|(number, _)| number).collect::<Vec<_>>(), lasting);
        assert_eq!((things.get(1001), things.get(1000)), (None, Some(&1000)));
        assert_eq!(things.remove(1000), Some(1000));
        assert_eq!((things.get(1000), things.len()), (None, 3));
        assert!(things.slots.len() <= 5);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn they_are_like_a_map(steps in prop::collection::vec((0..9_u8, any::<prop::sample::Index>()), 0..5000)) {
            let (mut things, mut model) = (Numbered::new(), BTreeMap::new());
            for (step, which) in steps {
                if step < 5 || model.is_empty() {
                    let number = things.next();
                    things.push(number + 7);
                    model.insert(number, number + 7);
                } else {
                    // Rarely the first.
                    let place = which.index(model.len()).max(model.len() / 2).min(model.len() - 1);
                    let number = *model.keys().nth(place).unwrap();
                    prop_assert_eq!(things.remove(number), model.remove(&number));
                    prop_assert!(things.remove(number).is_none());
                }
                prop_assert_eq!(things.len(), model.len());
            }
            let all: Vec<_> = things.iter().map(|(number, &thing)| (number, thing)).collect();
            prop_assert_eq!(all, model.clone().into_iter().collect::<Vec<_>>());
            for number in 0..things.next() + 4 {
                prop_assert_eq!(things.get(number), model.get(&number));
            }
        }
    }
}

//! Random numbers that are a pure function of client, call and position within the call.
//!
//! A call therefore draws the same numbers on any thread, whatever calls were made before it.

use httperf_plan::Client;

/// Random numbers of one call.
///
/// This is SplitMix64 (G. Steele, D. Lea, C. Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA
/// 2014, with the constants of D. Stafford's thirteenth mixer), seeded with a hash of the client and the
/// call's number.
///
/// <https://doi.org/10.1145/2714064.2660195>
#[derive(Clone, Debug)]
pub struct Draws {
    state: u64,
}

/// The odd number nearest to 2^64 divided by the golden ratio.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

impl Draws {
    /// Random numbers of a client's call.
    #[must_use]
    pub fn new(client: Client, call: u64) -> Self {
        let mut state = mix(u64::from(client.index).wrapping_add(1).wrapping_mul(GAMMA));
        if client.stream > 0 {
            state = mix(state ^ u64::from(client.stream).wrapping_mul(GAMMA));
        }
        Self { state: mix(state.wrapping_add(call.wrapping_add(1).wrapping_mul(GAMMA))) }
    }

    /// Random numbers of a client's visit, which differ from those of its calls.
    pub(crate) fn of_visit(client: Client, seed: u64, visit: u64) -> Self {
        let Self { state } = Self::new(client, visit);
        Self { state: mix(state ^ mix(seed.wrapping_add(1).wrapping_mul(GAMMA))) }
    }

    /// Draws a number from 0 to 1, without 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        // The 53 bits that a floating-point number can represent.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws the next number, uniform over 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// Draws a number from `low` to `high`. No number is more likely than another by more than one part in
    /// 2^64 / (high - low).
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        let count = u128::from(high - low) + 1;
        low + ((u128::from(self.next()) * count) >> 64) as u64
    }

    /// Draws a UUID of version 4 (RFC 9562, section 5.4), using two numbers.
    pub(crate) fn uuid(&mut self) -> u128 {
        let random = u128::from(self.next()) << 64 | u128::from(self.next());
        let version = 0x4_u128 << 76;
        let variant = 0b10_u128 << 62;
        random & !(0xF_u128 << 76) & !(0b11_u128 << 62) | version | variant
    }
}

/// Bijective mixing function: similar numbers map to very different ones.
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_generator_matches_the_published_one() {
        // Published first outputs from the state 0.
        let mut draws = Draws { state: 0 };
        let first: Vec<u64> = (0..3).map(|_| draws.next()).collect();
        assert_eq!(first, [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]);
    }

    #[test]
    fn numbers_never_change() {
        // Later versions must be able to repeat runs.
        let first = |client, call| Draws::new(Client::new(client, 1), call).next();
        let drawn = [first(0, 0), first(0, 1), first(1, 0), first(u32::MAX, u64::MAX)];
        assert_eq!(
            drawn,
            [0x2382_75BC_38FC_BE91, 0x2F10_1FE2_1496_EA20, 0x80AB_E802_AC1E_182E, 0xACEE_A300_51A6_F130]
        );
    }

    #[test]
    fn clients_trials_and_calls_draw_different_numbers() {
        let mut seen = HashSet::new();
        for (client, stream) in (0..20).flat_map(|client| (0..5).map(move |stream| (client, stream))) {
            for call in 0..100 {
                let mut draws = Draws::new(Client::new(client, 20).in_trial(stream), call);
                let is_new = (0..3).all(|_| seen.insert(draws.next()));
                assert!(is_new, "client {client}, trial {stream}, call {call}");
            }
        }
    }

    #[test]
    fn numbers_of_a_range_are_equally_frequent() {
        let mut counts = [0_u32; 10];
        for call in 0..100_000 {
            counts[Draws::new(Client::default(), call).between(5, 14) as usize - 5] += 1;
        }
        // Chi-square with 9 degrees of freedom: 99.99 % lie below 33.7.
        let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - 1e4).powi(2) / 1e4).sum();
        assert!(chi_square < 33.7, "{chi_square}: {counts:?}");
    }

    proptest! {
        #[test]
        fn numbers_stay_within_their_range(call: u64, a: u64, b: u64) {
            let (low, high) = (a.min(b), a.max(b));
            let number = Draws::new(Client::default(), call).between(low, high);
            prop_assert!((low..=high).contains(&number));
        }

        #[test]
        fn a_uuid_is_marked_as_random(client: u32, call: u64) {
            let uuid = Draws::new(Client::new(client, u32::MAX), call).uuid();
            prop_assert_eq!(uuid >> 76 & 0xF, 4);
            prop_assert_eq!(uuid >> 62 & 0b11, 0b10);
        }
    }
}

//! Random numbers of the classic tool: the 48-bit linear congruential generator behind `erand48`. The
//! schedules drawn from it are part of the tool's contract, so it must not be improved.

use httperf_plan::Client;

use crate::draws::mix;

/// `X ← (MULTIPLIER · X + INCREMENT) mod 2^48`.
const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const MODULUS: u64 = 1 << 48;

/// A stream of numbers uniform in `[0, 1)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erand48 {
    /// Less than `MODULUS`.
    state: u64,
}

impl Erand48 {
    /// Stream of this client (`--client=I/N`). A single run uses the classic stream; each of several trials
    /// starts elsewhere.
    #[must_use]
    pub fn of(client: Client) -> Self {
        let classic = Self::new(client.index);
        if client.stream == 0 {
            return classic;
        }
        // Skipping ahead would not do: numbers a power of two of steps apart have their low bits in common.
        Self { state: mix(mix(classic.state).wrapping_add(client.stream.into())) % MODULUS }
    }

    /// Classic stream of the client with this index.
    fn new(client_index: u32) -> Self {
        let word = |value: u32| u64::from(value & 0xFFFF);
        let low = word(0x1234 ^ client_index);
        let middle = word(0x5678 ^ (client_index << 8));
        let high = word(0x9ABC ^ !client_index);
        Self { state: high << 32 | middle << 16 | low }
    }

    /// Stream that starts with the state 0, for any client.
    #[must_use]
    pub fn from_zero() -> Self {
        Self { state: 0 }
    }

    /// Draws the next number.
    #[expect(clippy::should_implement_trait, reason = "an infinite stream needs no Option")]
    pub fn next(&mut self) -> f64 {
        self.state = Step::ONE.apply(self.state);
        self.state as f64 / MODULUS as f64
    }

    /// Skips `count` numbers, in time logarithmic in `count`.
    pub fn skip(&mut self, count: u64) {
        let mut power = Step::ONE;
        let mut remaining = count;
        while remaining > 0 {
            if remaining & 1 == 1 {
                self.state = power.apply(self.state);
            }
            power = power.twice();
            remaining >>= 1;
        }
    }
}

/// Any number of steps of the generator at once, again of the form `X ← (multiplier · X + increment)`.
#[derive(Clone, Copy)]
struct Step {
    multiplier: u64,
    increment: u64,
}

impl Step {
    const ONE: Self = Self { multiplier: MULTIPLIER, increment: INCREMENT };

    /// Wrapping at 2^64 is harmless, as 2^48 divides it.
    fn apply(self, state: u64) -> u64 {
        self.multiplier.wrapping_mul(state).wrapping_add(self.increment) % MODULUS
    }

    fn twice(self) -> Self {
        Self {
            multiplier: self.multiplier.wrapping_mul(self.multiplier),
            increment: self.apply(self.increment),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(client_index: u32, expected: &str) {
        let mut random = Erand48::new(client_index);
        let numbers: Vec<String> = (0..8).map(|_| format!("{:.10}", random.next())).collect();
        assert_eq!(numbers.join(" "), expected);
    }

    #[test]
    fn streams_start_like_the_classic_ones() {
        check(
            0,
            "0.8080073247 0.2756824278 0.0877913933 0.4320839307 \
             0.6403979967 0.2699468671 0.1582596760 0.3218676391",
        );
        check(
            1,
            "0.8333872164 0.3411443838 0.1919241673 0.4329617982 \
             0.2947593625 0.1743381730 0.9666476601 0.3053690822",
        );
        check(
            2,
            "0.1572030346 0.9059709542 0.1278008969 0.7405372728 \
             0.0467624347 0.9278522416 0.4901833779 0.7010330676",
        );
        check(
            5,
            "0.7318676495 0.0792965599 0.7753930713 0.4294503280 \
             0.6773138994 0.5567729494 0.7330957237 0.3713633098",
        );
    }

    #[test]
    fn trials_draw_independent_numbers() {
        let drawn = |index, stream| {
            let mut random = Erand48::of(Client::new(index, 9).in_trial(stream));
            (0..1000).map(|_| random.next()).collect::<Vec<f64>>()
        };
        assert_eq!(drawn(2, 0)[0].to_bits(), Erand48::new(2).next().to_bits(), "a run by itself is classic");
        let all: Vec<Vec<f64>> =
            (0..3).flat_map(|index| (0..20).map(move |stream| drawn(index, stream))).collect();
        for (number, one) in all.iter().enumerate() {
            for other in &all[..number] {
                // The correlation of independent numbers has a standard deviation of 0.032; there are 1770 pairs.
                let product: f64 = one.iter().zip(other).map(|(a, b)| (a - 0.5) * (b - 0.5)).sum();
                let correlation = product * 12.0 / one.len() as f64;
                assert!(correlation.abs() < 0.16, "{correlation}");
            }
        }
    }

    #[test]
    fn the_first_client_starts_with_a_known_state() {
        assert_eq!(Erand48::new(0), Erand48 { state: 0x6543_5678_1234 });
    }

    #[test]
    fn the_stream_from_zero_starts_with_the_increment() {
        let first = Erand48::from_zero().next();
        assert_eq!(first.to_bits(), (11.0 / 2.0_f64.powi(48)).to_bits());
    }

    proptest! {
        #[test]
        fn skipping_is_the_same_as_stepping(client_index: u32, first in 0..2000_u64, then in 0..2000_u64) {
            let mut skipped = Erand48::new(client_index);
            skipped.skip(first);
            skipped.skip(then);
            let mut stepped = Erand48::new(client_index);
            for _ in 0..first + then {
                stepped.next();
            }
            prop_assert_eq!(skipped, stepped);
        }

        #[test]
        fn skips_add_up(client_index: u32, first: u64, then: u64) {
            let mut apart = Erand48::new(client_index);
            apart.skip(first);
            apart.skip(then);
            let mut together = Erand48::new(client_index);
            // The period divides 2^48, so the sum may wrap.
            together.skip(first.wrapping_add(then));
            prop_assert_eq!(apart, together);
        }

        #[test]
        fn numbers_stay_below_one(client_index: u32, skip: u64) {
            let mut random = Erand48::new(client_index);
            random.skip(skip);
            prop_assert!((0.0..1.0).contains(&random.next()));
        }
    }
}

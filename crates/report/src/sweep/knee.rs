//! Knee of a sweep: the rate above which replies no longer follow the offered load.

/// Minimum share of the offered load that a server must answer to keep up.
pub const KEPT_UP: f64 = 0.95;

/// Replies of a server at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Arrivals per second. Above 0.
    pub offered: f64,
    /// Arrivals answered per second.
    pub answered: f64,
}

impl Point {
    fn keeps_up(self) -> bool {
        self.answered >= KEPT_UP * self.offered
    }
}

/// The knee, as far as rates were tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Highest rate that the server kept up with; 0 if it kept up with none.
    pub kept_up: f64,
    /// The next rate, which it did not keep up with.
    pub fell_behind: f64,
    /// What it answered there: the plateau of a server that answers as much beyond its knee, and otherwise a rate between the
    /// other two. `None` if nothing shows where it lies.
    pub estimate: Option<f64>,
}

/// Finds the knee between points in ascending order of the offered rate. `None` if the server kept up with the highest rate:
/// a failure at a rate below was no saturation then.
#[must_use]
pub fn knee(points: &[Point]) -> Option<Knee> {
    let kept = points.iter().rposition(|point| point.keeps_up());
    let next = points.get(kept.map_or(0, |place| place + 1))?;
    let kept_up = kept.map_or(0.0, |place| points[place].offered);
    let estimate = match kept {
        Some(_) => Some(next.answered.clamp(kept_up, next.offered)),
        // It answers more where more is offered: there is no plateau below these rates.
        None if points.iter().any(|point| point.answered > next.offered) => None,
        None => points.iter().map(|point| point.answered).reduce(f64::max).filter(|most| *most > 0.0),
    };
    Some(Knee { kept_up, fell_behind: next.offered, estimate })
}

impl Knee {
    /// The estimate with no more digits than the distance of the rates lets it have.
    #[must_use]
    pub fn rounded(&self) -> Option<f64> {
        let digit = 10_f64.powf(((self.fell_behind - self.kept_up) / 10.0).log10().floor());
        self.estimate
            .map(|estimate| ((estimate / digit).round() * digit).clamp(self.kept_up, self.fell_behind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(f64, f64)]) -> Vec<Point> {
        points.iter().map(|&(offered, answered)| Point { offered, answered }).collect()
    }

    /// Points of a server whose replies are a function of the rate.
    fn answered_by(rates: impl IntoIterator<Item = f64>, server: impl Fn(f64) -> f64) -> Vec<Point> {
        rates.into_iter().map(|offered| Point { offered, answered: server(offered) }).collect()
    }

    #[track_caller]
    fn check(points: &[Point], between: [f64; 2], estimate: Option<f64>) {
        let Knee { kept_up, fell_behind, estimate: found } = knee(points).unwrap();
        assert_eq!([kept_up, fell_behind], between);
        match (found, estimate) {
            (Some(found), Some(estimate)) => {
                assert!((found - estimate).abs() < 1e-6, "{found}, expected {estimate}");
            }
            (found, estimate) => assert_eq!(found, estimate),
        }
    }

    fn steps(count: u32) -> impl Iterator<Item = f64> {
        (1..=count).map(|step| f64::from(step) * 100.0)
    }

    #[test]
    fn a_server_of_a_fixed_capacity_bends_there() {
        for (capacity, between) in
            [(130.0, [100.0, 200.0]), (500.0, [500.0, 600.0]), (949.0, [900.0, 1000.0])]
        {
            check(&answered_by(steps(10), |rate| rate.min(capacity)), between, Some(capacity));
        }
    }

    #[test]
    fn whatever_it_answers_far_beyond_does_not_move_it() {
        // A plateau, and then a collapse.
        let exhausted = |rate: f64| if rate <= 600.0 { rate.min(500.0) } else { 800.0 - rate };
        check(&answered_by(steps(8), exhausted), [500.0, 600.0], Some(500.0));
        // A collapse at once.
        check(&curve(&[(100.0, 100.0), (200.0, 200.0), (300.0, 50.0)]), [200.0, 300.0], Some(200.0));
        let thrashing = |rate: f64| if rate <= 600.0 { rate } else { 600.0 * 600.0 / rate };
        check(&answered_by(steps(20), thrashing), [600.0, 700.0], Some(600.0));
        // One that answers ever more, but not all.
        let slow = |rate: f64| if rate <= 400.0 { rate } else { 400.0 + 0.4 * (rate - 400.0) };
        check(&answered_by(steps(12), slow), [400.0, 500.0], Some(440.0));
    }

    #[test]
    fn noise_moves_it_no_further_than_to_the_next_rates() {
        let noise = [0.99, 1.01, 1.0, 0.985, 1.012, 0.995, 1.005, 0.99];
        let noisy =
            answered_by(steps(16), |rate| rate.min(800.0) * noise[(rate / 100.0) as usize % noise.len()]);
        let knee = knee(&noisy).unwrap();
        assert_eq!((knee.kept_up, knee.fell_behind), (800.0, 900.0));
        assert!(knee.estimate.is_some_and(|estimate| (800.0..=816.0).contains(&estimate)), "{knee:?}");
    }

    #[test]
    fn without_saturation_there_is_none() {
        assert_eq!(knee(&[]), None);
        assert_eq!(knee(&answered_by(steps(10), |rate| rate)), None);
        assert_eq!(knee(&answered_by(steps(10), |rate| 0.96 * rate)), None);
    }

    #[test]
    fn a_single_failure_in_between_is_no_knee() {
        let once = answered_by(steps(10), |rate| if rate == 300.0 { 100.0 } else { rate });
        assert_eq!(knee(&once), None);
    }

    #[test]
    fn a_server_that_never_kept_up_bends_below_the_first_rate_if_it_has_a_plateau() {
        check(&answered_by(steps(10).skip(5), |_| 250.0), [0.0, 600.0], Some(250.0));
        check(&curve(&[(1000.0, 500.0)]), [0.0, 1000.0], Some(500.0));
        check(&answered_by(steps(3), |_| 0.0), [0.0, 100.0], None);
        check(&answered_by(steps(9), |rate| 0.5 * rate), [0.0, 100.0], None);
    }

    #[test]
    fn it_has_no_more_digits_than_are_known() {
        let rounded = |kept_up, fell_behind, estimate| {
            Knee { kept_up, fell_behind, estimate: Some(estimate) }.rounded().unwrap()
        };
        assert_eq!(rounded(500.0, 600.0, 537.3), 540.0);
        assert_eq!(rounded(500.0, 520.0, 517.3), 517.0);
        assert_eq!(rounded(1000.0, 5000.0, 3333.0), 3300.0);
        assert_eq!(rounded(0.5, 0.6, 0.537), 0.54);
        assert_eq!(rounded(495.0, 595.0, 496.0), 500.0);
        assert_eq!(rounded(499.0, 599.0, 590.0), 590.0);
    }
}

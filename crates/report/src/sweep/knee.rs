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

/// Finds the rate above which replies no longer follow, from points in ascending order of the offered rate.
///
/// Two lines are fitted: the diagonal through the origin up to the knee, and a line of any lesser slope from
/// there. The fit minimizes the squares of the differences relative to the rate, so that points far beyond
/// the knee do not dominate. Returns `None` if the server kept up with all rates; if the diagonal alone fits
/// best, since a failure at a rate in between was no saturation then; and if the diagonal fits nowhere.
#[must_use]
pub fn knee(points: &[Point]) -> Option<f64> {
    if points.iter().all(|point| point.keeps_up()) {
        return None;
    }
    let fits: Vec<Fit> = (0..points.len()).flat_map(|first| fits_between(points, first)).collect();
    let best = fits.iter().map(|fit| fit.error).fold(f64::INFINITY, f64::min) + SAME;
    if diagonal_error(points) <= best {
        return None;
    }
    // Of equally good fits, the one that leaves the diagonal last: few points beyond the knee fit many lines.
    let knee = fits.iter().filter(|fit| fit.error <= best).map(|fit| fit.knee).fold(0.0, f64::max);
    (knee > 0.0).then_some(knee)
}

/// Rounding tolerance for errors that count as equal.
const SAME: f64 = 1e-12;

/// The diagonal up to the knee, and a line from there.
#[derive(Clone, Copy, Debug)]
struct Fit {
    knee: f64,
    /// Sum of squares.
    error: f64,
}

/// Fits whose knee lies between point number `first` and the one before it.
fn fits_between(points: &[Point], first: usize) -> impl Iterator<Item = Fit> {
    let (before, beyond) = points.split_at(first);
    let lowest = before.last().map_or(0.0, |point| point.offered);
    let highest = beyond[0].offered;
    let crossing = crossing(beyond).clamp(lowest, highest);
    // A single point fits lines of any slope: the flattest is used.
    let knees = [crossing, if beyond.len() > 1 { lowest } else { crossing }];
    let diagonal = diagonal_error(before);
    knees.into_iter().filter_map(move |knee| {
        let (slope, error) = line_from(knee, beyond)?;
        (slope < 1.0).then_some(Fit { knee, error: diagonal + error })
    })
}

fn diagonal_error(points: &[Point]) -> f64 {
    points.iter().map(|point| weight(point) * (point.answered - point.offered).powi(2)).sum()
}

/// Point at which the best line through these points crosses the diagonal; for a single point, the horizontal
/// line. NaN if they do not cross.
fn crossing(points: &[Point]) -> f64 {
    if let [only] = points {
        return only.answered;
    }
    let sum = |of: &dyn Fn(&Point) -> f64| points.iter().map(|point| weight(point) * of(point)).sum::<f64>();
    let all = sum(&|_| 1.0);
    let (x, y) = (sum(&|point| point.offered) / all, sum(&|point| point.answered) / all);
    let spread = sum(&|point| (point.offered - x).powi(2));
    let slope = sum(&|point| (point.offered - x) * (point.answered - y)) / spread;
    if slope < 1.0 { (y - slope * x) / (1.0 - slope) } else { f64::NAN }
}

/// Slope and error of the best line from the diagonal at `knee` through these points; `None` if no point lies
/// beyond the knee.
fn line_from(knee: f64, points: &[Point]) -> Option<(f64, f64)> {
    let (mut across, mut along) = (0.0, 0.0);
    for point in points {
        let distance = point.offered - knee;
        across += weight(point) * distance * (point.answered - knee);
        along += weight(point) * distance.powi(2);
    }
    let slope = (along > 0.0).then(|| across / along)?;
    let off = |point: &Point| point.answered - knee - slope * (point.offered - knee);
    Some((slope, points.iter().map(|point| weight(point) * off(point).powi(2)).sum()))
}

fn weight(point: &Point) -> f64 {
    point.offered.powi(-2)
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
    fn check(points: &[Point], expected: f64, tolerance: f64) {
        let knee = knee(points).unwrap();
        assert!((knee - expected).abs() <= tolerance, "{knee}, expected {expected}");
    }

    fn steps(count: u32) -> impl Iterator<Item = f64> {
        (1..=count).map(|step| f64::from(step) * 100.0)
    }

    #[test]
    fn a_server_of_a_fixed_capacity_bends_there() {
        for capacity in [130.0, 500.0, 555.0, 949.0] {
            check(&answered_by(steps(10), |rate| rate.min(capacity)), capacity, 1e-6);
        }
    }

    #[test]
    fn one_point_beyond_is_enough() {
        check(&curve(&[(100.0, 100.0), (200.0, 200.0), (300.0, 240.0)]), 240.0, 1e-6);
        check(&curve(&[(100.0, 100.0), (200.0, 200.0), (300.0, 50.0)]), 200.0, 1e-6);
        check(&curve(&[(1000.0, 500.0)]), 500.0, 1e-6);
    }

    #[test]
    fn a_server_that_collapses_bends_where_it_begins_to() {
        let collapsing = |rate: f64| if rate <= 600.0 { rate } else { 600.0 - 0.8 * (rate - 600.0) };
        check(&answered_by(steps(12), collapsing), 600.0, 1e-6);
        let thrashing = |rate: f64| if rate <= 600.0 { rate } else { 600.0 * 600.0 / rate };
        check(&answered_by(steps(20), thrashing), 600.0, 60.0);
    }

    #[test]
    fn a_server_that_slowly_falls_behind_bends_where_it_begins_to() {
        let slow = |rate: f64| if rate <= 400.0 { rate } else { 400.0 + 0.4 * (rate - 400.0) };
        check(&answered_by(steps(12), slow), 400.0, 1e-6);
    }

    #[test]
    fn noise_does_not_move_it_far() {
        let noise = [0.99, 1.01, 1.0, 0.985, 1.012, 0.995, 1.005, 0.99];
        let noisy =
            answered_by(steps(16), |rate| rate.min(800.0) * noise[(rate / 100.0) as usize % noise.len()]);
        check(&noisy, 800.0, 40.0);
    }

    #[test]
    fn rates_that_grow_geometrically_weigh_alike() {
        let rates = (0..12).map(|step| 100.0 * 1.5_f64.powi(step));
        check(&answered_by(rates, |rate| rate.min(700.0)), 700.0, 1e-6);
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
    fn a_server_that_never_kept_up_bends_below_the_first_rate() {
        check(&answered_by(steps(10).skip(5), |_| 250.0), 250.0, 1e-6);
    }

    #[test]
    fn a_server_that_answers_the_same_share_of_everything_has_no_knee() {
        assert_eq!(knee(&answered_by(steps(3), |_| 0.0)), None);
        assert_eq!(knee(&answered_by(steps(9), |rate| 0.5 * rate)), None);
    }
}

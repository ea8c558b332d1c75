//! URIs of calls: a fixed one, one of a list, or a name from a working set.

use httperf_plan::{Client, NonEmpty, UriSource, WorkingSet};

use crate::random::Erand48;

/// URIs of calls, in the order of calls. Nothing is allocated per call.
#[derive(Clone, Debug)]
pub struct Uris {
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Fixed(Vec<u8>),
    List { uris: NonEmpty<Vec<u8>>, wrap: bool },
    Walk(Walk),
}

impl Uris {
    /// Creates the URIs of `source` for this client.
    ///
    /// # Panics
    /// If the source has more than URIs: [`Requests`](crate::requests::Requests) handles those.
    #[must_use]
    pub fn new(source: &UriSource, client: Client) -> Self {
        let source = match source {
            UriSource::Fixed(uri) => Source::Fixed(uri.clone()),
            UriSource::List { uris, wrap } => Source::List { uris: uris.clone(), wrap: *wrap },
            UriSource::WorkingSet(set) => Source::Walk(Walk::new(set, client)),
            UriSource::Template(_) | UriSource::Requests(_) | UriSource::Prompts(_) => {
                panic!("{source:?} is of more than URIs")
            }
        };
        Self { source }
    }

    /// URI of call `number`, from 0, which must be the one after the last; `None` beyond the end of a list
    /// that does not wrap. Same as [`Uris::at`], except for rounding errors of a walk, which accumulate as in
    /// the classic tool.
    pub fn next(&mut self, number: u64) -> Option<&[u8]> {
        self.find(number, Walk::next_name)
    }

    /// URI of call `number`, from 0; `None` beyond the end of a list that does not wrap. Depends only on the
    /// number.
    pub fn at(&mut self, number: u64) -> Option<&[u8]> {
        self.find(number, |walk| walk.name_at(number))
    }

    fn find<'a>(&'a mut self, number: u64, name: impl FnOnce(&'a mut Walk) -> &'a [u8]) -> Option<&'a [u8]> {
        match &mut self.source {
            Source::Fixed(uri) => Some(uri),
            Source::List { uris, wrap } => {
                uris.get(index_in_list(number, uris.len(), *wrap)).map(Vec::as_slice)
            }
            Source::Walk(walk) => Some(name(walk)),
        }
    }

    /// Number of URIs; `None` if infinite.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        match &self.source {
            Source::List { uris, wrap } => (!wrap).then_some(uris.len() as u64),
            Source::Fixed(_) | Source::Walk(_) => None,
        }
    }

    /// Number of distinct URIs, if known.
    #[must_use]
    pub fn variety(&self) -> Option<usize> {
        match &self.source {
            Source::Fixed(_) => Some(1),
            Source::List { uris, .. } => Some(uris.len()),
            Source::Walk(_) => None,
        }
    }

    /// Index of a call's URI among the distinct ones, from 0.
    #[must_use]
    pub fn which(&self, number: u64) -> Option<usize> {
        match &self.source {
            Source::Fixed(_) => Some(0),
            Source::List { uris, wrap } => {
                Some(index_in_list(number, uris.len(), *wrap)).filter(|&index| index < uris.len())
            }
            Source::Walk(_) => None,
        }
    }
}

fn index_in_list(number: u64, count: usize, wraps: bool) -> usize {
    let index = if wraps { number % count as u64 } else { number };
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// A walk through a working set: each call stays on the current file or moves to another one. The share of
/// calls that move is the miss rate.
#[derive(Clone, Debug)]
struct Walk {
    files: u64,
    miss_rate: f64,
    /// Distance of each move: the number of clients, so that clients avoid each other's files.
    stride: u64,
    /// Fraction of the next miss accumulated so far.
    due: f64,
    /// Initial value of `due`.
    first_miss: f64,
    first_index: u64,
    /// Less than `files`, unless the client's index or the number of clients is larger.
    index: u64,
    /// Last name: the prefix, `/` and a digit for each of `digit_count`, `.html`.
    name: Vec<u8>,
    prefix_size: usize,
    digit_count: usize,
}

impl Walk {
    fn new(set: &WorkingSet, client: Client) -> Self {
        let prefix = set.prefix.strip_suffix(b"/").unwrap_or(&set.prefix);
        let digit_count = (set.files.get() - 1).checked_ilog10().map_or(0, |log| log as usize + 1);
        let mut name = prefix.to_vec();
        name.extend(b"/0".repeat(digit_count));
        name.extend_from_slice(b".html");
        // All clients of the classic tool draw the same number.
        let mut random = if client.stream == 0 { Erand48::from_zero() } else { Erand48::of(client) };
        let first_miss = random.next();
        Self {
            files: u64::from(set.files.get()),
            miss_rate: set.miss_rate,
            stride: u64::from(client.count.get()),
            due: first_miss,
            first_miss,
            first_index: u64::from(client.index),
            index: u64::from(client.index),
            name,
            prefix_size: prefix.len(),
            digit_count,
        }
    }

    fn next_name(&mut self) -> &[u8] {
        self.due += self.miss_rate;
        if self.due >= 1.0 {
            self.due -= 1.0;
            self.index = self.index.wrapping_add(self.stride);
            // Only once, like the classic tool; the difference shows only if there are more clients than
            // files.
            if self.index >= self.files {
                self.index -= self.files;
            }
        }
        self.name_of(self.index)
    }

    /// Same as [`Walk::next_name`] after `number` others, except for rounding errors.
    fn name_at(&mut self, number: u64) -> &[u8] {
        let moves = (self.first_miss + self.miss_rate * (number as f64 + 1.0)) as u64;
        let index = self.first_index.wrapping_add(moves.wrapping_mul(self.stride));
        self.name_of(index % self.files)
    }

    fn name_of(&mut self, index: u64) -> &[u8] {
        let digits = &mut self.name[self.prefix_size..][..2 * self.digit_count];
        let mut rest = index;
        for pair in digits.chunks_exact_mut(2).rev() {
            pair[1] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn working_set(prefix: &str, files: u32, miss_rate: f64) -> UriSource {
        let files = files.try_into().unwrap();
        UriSource::WorkingSet(WorkingSet { prefix: prefix.into(), files, miss_rate })
    }

    fn list(uris: &[&str], wrap: bool) -> UriSource {
        let uris: Vec<Vec<u8>> = uris.iter().map(|uri| uri.as_bytes().to_vec()).collect();
        UriSource::List { uris: uris.try_into().unwrap(), wrap }
    }

    fn taken(source: &UriSource, client: Client, count: usize) -> Vec<String> {
        let mut uris = Uris::new(source, client);
        let mut taken = Vec::new();
        while let Some(uri) = uris.next(taken.len() as u64) {
            taken.push(String::from_utf8(uri.to_vec()).unwrap());
            if taken.len() == count {
                break;
            }
        }
        taken
    }

    #[track_caller]
    fn check(source: &UriSource, expected: &[&str]) {
        assert_eq!(taken(source, Client::default(), expected.len()), expected);
    }

    /// Checks the numbers of the files of the first calls.
    #[track_caller]
    fn check_walk(files: u32, miss_rate: f64, client: Client, expected: &str) {
        let count = expected.split(' ').count();
        let numbers: Vec<String> = taken(&working_set("/", files, miss_rate), client, count)
            .iter()
            .map(|name| name.trim_end_matches(".html").replace('/', ""))
            .collect();
        assert_eq!(numbers.join(" "), expected);
    }

    #[test]
    fn a_fixed_uri_is_always_the_same() {
        let mut uris = Uris::new(&UriSource::Fixed(b"/x y".to_vec()), Client::default());
        let first = uris.next(0).unwrap().as_ptr();
        assert_eq!(uris.next(1).unwrap(), b"/x y");
        assert_eq!(uris.next(2).unwrap().as_ptr(), first, "nothing is copied");
        assert_eq!((uris.count(), uris.variety(), uris.which(3)), (None, Some(1), Some(0)));
    }

    #[test]
    fn a_uri_can_be_found_by_the_number_of_its_call() {
        let client = Client::new(1, 3);
        for source in [
            list(&["/a", "/b", "/c"], true),
            list(&["/a", "/b", "/c"], false),
            working_set("/set", 50, 0.25),
            working_set("/set", 7, 1.0),
            UriSource::Fixed(b"/one".to_vec()),
        ] {
            let in_order = taken(&source, client, 40);
            let mut uris = Uris::new(&source, client);
            let mut by_number: Vec<Option<String>> = (0..40)
                .rev()
                .map(|number| uris.at(number).map(|uri| String::from_utf8(uri.to_vec()).unwrap()))
                .collect();
            by_number.reverse();
            let there = uris.count().map_or(40, |count| count as usize);
            assert_eq!(
                by_number[..there].iter().flatten().collect::<Vec<_>>(),
                in_order.iter().collect::<Vec<_>>()
            );
            assert!(by_number[there..].iter().all(Option::is_none));
        }
    }

    #[test]
    fn a_list_that_wraps_starts_again() {
        let source = list(&["/a", "/b", "/c"], true);
        check(&source, &["/a", "/b", "/c", "/a", "/b", "/c", "/a"]);
        let uris = Uris::new(&source, Client::default());
        assert_eq!((uris.count(), uris.variety(), uris.which(4)), (None, Some(3), Some(1)));
    }

    #[test]
    fn a_list_that_does_not_wrap_comes_to_an_end() {
        let mut uris = Uris::new(&list(&["/a", "/b"], false), Client::default());
        assert_eq!(uris.next(0), Some(&b"/a"[..]));
        assert_eq!(uris.next(1), Some(&b"/b"[..]));
        assert_eq!(uris.next(2), None);
        assert_eq!((uris.count(), uris.which(1), uris.which(2)), (Some(2), Some(1), None));
    }

    #[test]
    fn a_working_set_moves_on_at_the_miss_rate() {
        check_walk(10, 0.3, Client::default(), "0 0 0 1 1 1 2 2 2 3");
        check_walk(10, 0.0, Client::default(), "0 0 0 0");
        check_walk(10, 1.0, Client::default(), "1 2 3 4 5 6 7 8 9 0 1");
    }

    #[test]
    fn clients_skip_each_other_s_files() {
        check_walk(10, 1.0, Client::new(3, 4), "7 1 5 9 3 7");
    }

    #[test]
    fn an_index_beyond_the_set_keeps_its_low_digits() {
        check_walk(10, 0.0, Client::new(12, 20), "2 2");
        check_walk(3, 1.0, Client::new(0, 20), "7 4 1 8");
    }

    #[test]
    fn a_name_has_a_directory_for_each_digit() {
        check(
            &working_set("/wset1024", 1024, 0.5),
            &[
                "/wset1024/0/0/0/0.html",
                "/wset1024/0/0/0/1.html",
                "/wset1024/0/0/0/1.html",
                "/wset1024/0/0/0/2.html",
                "/wset1024/0/0/0/2.html",
            ],
        );
        check(&working_set("/wset1024", 1024, 1.0), &["/wset1024/0/0/0/1.html"]);
        check(&working_set("/", 1000, 1.0), &["/0/0/1.html"]);
        check(&working_set("/", u32::MAX, 1.0), &["/0/0/0/0/0/0/0/0/0/1.html"]);
    }

    #[test]
    fn a_prefix_loses_the_slash_at_its_end() {
        check(&working_set("/foo/", 11, 1.0), &["/foo/0/1.html"]);
        check(&working_set("", 10, 1.0), &["/1.html"]);
    }

    #[test]
    fn a_set_of_one_file_has_no_digits() {
        check(&working_set("/foo", 1, 1.0), &["/foo.html", "/foo.html"]);
    }

    #[test]
    fn a_prefix_may_be_long() {
        let prefix = "/long".repeat(100);
        check(&working_set(&prefix, 10, 1.0), &[&format!("{prefix}/1.html")]);
    }

    proptest! {
        #[test]
        fn the_share_of_calls_that_move_is_the_miss_rate(
            files in 2..5000_u32,
            miss_rate in 0.0..=1.0_f64,
            calls in 1..500_usize,
        ) {
            let names = taken(&working_set("/", files, miss_rate), Client::default(), calls);
            let start = taken(&working_set("/", files, 0.0), Client::default(), 1);
            let moves = start.iter().chain(&names).zip(&names).filter(|(last, next)| last != next).count();
            prop_assert!((moves as f64 - miss_rate * calls as f64).abs() <= 1.0);
        }
    }
}

//! The first reading of a recording: what it has, what of it is made, and how long it lasts.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use httperf_import::recording::Options;
use httperf_import::trace::Request;
use httperf_import::{Error, Report, to_rfc3339};
use httperf_plan::{LeftOut, Recorded, RecordedForm, Sha256};
use sha2::{Digest, Sha256 as Hasher};

use super::{Making, requests};

/// Clients whose last requests are remembered, to know their pauses.
const CLIENTS_MAX: usize = 1 << 20;

/// What a recording has.
#[derive(Debug)]
pub(crate) struct Surveyed {
    pub(crate) recorded: Recorded,
    /// The mean pause between the starts of requests of a client; `None` if none made two.
    pub(crate) pause: Option<Duration>,
    /// The first requests that are made.
    pub(crate) first: Vec<Request>,
}

/// Reads a recording. `form`: `None` if its first line tells it; otherwise with the choices for a log. Keeps the first
/// `shown` requests that are made.
pub(crate) fn survey(
    path: &Path,
    form: Option<&RecordedForm>,
    options: &Options,
    making: &Making,
    shown: usize,
) -> Result<Surveyed, Error> {
    let seen = Rc::new(RefCell::new(Seen { hasher: Hasher::new(), size: 0 }));
    let file = Watched { file: File::open(path)?, seen: Rc::clone(&seen) };
    let mut recording = requests(file, options)?;
    let is_model = recording.form() == "model";
    // A model is asked by POST alone.
    let making = &Making { all_methods: making.all_methods || is_model, ..making.clone() };
    let mut counts = Counts::default();
    while let Some(request) = recording.read()? {
        counts.add(request, making, shown);
    }
    let head = recording.head();
    let began = head.began.saturating_add(nanos(counts.first_at.unwrap_or_default()));
    let told = match (form, recording.form()) {
        (Some(form), _) => form.clone(),
        (None, "trace") => RecordedForm::Trace,
        (None, "model") => {
            RecordedForm::Model { uri: options.asking.uri.clone(), model: options.asking.model.clone() }
        }
        (None, "goreplay") => RecordedForm::GoReplay { client_by: usual_by(), idle: options.idle },
        (None, _) => RecordedForm::Log { format: None, client_by: usual_by(), idle: options.idle },
    };
    let seen = seen.borrow();
    let recorded = Recorded {
        path: path.to_path_buf(),
        size: seen.size,
        sha256: Sha256(seen.hasher.clone().finalize().into()),
        form: told,
        from: head.from.clone(),
        stamps: head.stamps.name().to_owned(),
        resolution: head.resolution,
        began: to_rfc3339(began),
        length: counts.last_at.saturating_sub(counts.first_at.unwrap_or_default()),
        requests: counts.made,
        busiest: counts.busiest,
        clients: counts.clients.count,
        left_out: counts.left_out(&recording.report()),
        notes: counts.notes(&recording.report(), making),
    };
    Ok(Surveyed { recorded, pause: counts.pause(), first: counts.first })
}

fn usual_by() -> String {
    "address+agent+user".to_owned()
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// The bytes of a file that were read.
#[derive(Debug)]
struct Seen {
    hasher: Hasher,
    size: u64,
}

/// A file whose bytes are counted and hashed as they are read.
#[derive(Debug)]
struct Watched {
    file: File,
    seen: Rc<RefCell<Seen>>,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        let mut seen = self.seen.borrow_mut();
        seen.hasher.update(buffer.get(..count).unwrap_or_default());
        seen.size += count as u64;
        Ok(count)
    }
}

/// The counts of a recording's requests.
#[derive(Debug, Default)]
struct Counts {
    made: u64,
    first_at: Option<Duration>,
    last_at: Duration,
    /// The second from the first request that the last is in, and the requests in it.
    second: (u64, u64),
    /// The most requests in such a second.
    busiest: u64,
    clients: Distinct,
    /// Requests that are not made for their method, by method.
    unsafe_methods: Vec<LeftOut>,
    bodiless: u64,
    /// Requests that each `--body-for` gives a body.
    given_bodies: Vec<u64>,
    /// The last request of each client, and the pauses between their requests.
    last_of: HashMap<u64, Duration>,
    pauses: (u32, Duration),
    first: Vec<Request>,
}

impl Counts {
    fn add(&mut self, request: Request, making: &Making, shown: usize) {
        if !making.makes(&request.method) {
            let reason = format!("{} requests (--allow-unsafe makes them)", request.method);
            match self.unsafe_methods.iter_mut().find(|left_out| left_out.reason == reason) {
                Some(left_out) => left_out.count += 1,
                None => self.unsafe_methods.push(LeftOut { reason, count: 1 }),
            }
            return;
        }
        let expects_body = matches!(&request.method[..], "POST" | "PUT" | "PATCH");
        match making.body_for(&request) {
            Some(given) => {
                self.given_bodies.resize(making.bodies.len(), 0);
                self.given_bodies[given] += 1;
            }
            None => self.bodiless += u64::from(expects_body && request.body.is_none()),
        }
        self.made += 1;
        let first_at = *self.first_at.get_or_insert(request.at);
        let second = request.at.saturating_sub(first_at).as_secs();
        self.second = if second == self.second.0 { (second, self.second.1 + 1) } else { (second, 1) };
        self.busiest = self.busiest.max(self.second.1);
        self.last_at = request.at;
        self.clients.add(request.client);
        if self.last_of.len() >= CLIENTS_MAX {
            self.last_of.clear();
        }
        if let Some(last) = self.last_of.insert(request.client, request.at) {
            let pause = request.at.saturating_sub(last);
            self.pauses = (self.pauses.0.saturating_add(1), self.pauses.1.saturating_add(pause));
        }
        if self.first.len() < shown {
            self.first.push(request);
        }
    }

    fn pause(&self) -> Option<Duration> {
        self.pauses.1.checked_div(self.pauses.0)
    }

    fn left_out(&self, report: &Report) -> Vec<LeftOut> {
        let of_reading =
            report.left_out.iter().map(|group| LeftOut { reason: group.reason.clone(), count: group.count });
        let mut left_out: Vec<LeftOut> = self.unsafe_methods.clone();
        left_out.sort_by_key(|left_out| std::cmp::Reverse(left_out.count));
        left_out.into_iter().chain(of_reading).collect()
    }

    /// The notes that are of use for a replay.
    fn notes(&self, report: &Report, making: &Making) -> Vec<String> {
        let is_of_import =
            |note: &&String| note.contains("clients' sessions") || note.contains("have no body:");
        let mut notes: Vec<String> =
            report.notes.iter().filter(|note| !is_of_import(note)).cloned().collect();
        if self.bodiless > 0 && making.all_methods {
            notes.push(format!(
                "{} POST, PUT and PATCH requests are made without a body, as none was recorded (--body-for)",
                self.bodiless
            ));
        }
        for (body, given) in making.bodies.iter().zip(self.given_bodies.iter().chain(std::iter::repeat(&0))) {
            if *given == 0 {
                notes.push(format!(
                    "no {} request to {} lacks a body, so this --body-for has no effect",
                    body.method, body.path
                ));
            }
        }
        notes
    }
}

/// Counts different numbers, most of which are small.
#[derive(Debug, Default)]
struct Distinct {
    count: u64,
    bits: Vec<u64>,
    large: HashSet<u64>,
}

/// Numbers below this have a bit.
const SMALL: u64 = 1 << 28;

impl Distinct {
    fn add(&mut self, number: u64) {
        if number >= SMALL {
            self.count += u64::from(self.large.insert(number));
            return;
        }
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if word >= self.bits.len() {
            self.bits.resize((word + 1).next_power_of_two(), 0);
        }
        let is_new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        self.count += u64::from(is_new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_numbers_are_counted_once() {
        let mut distinct = Distinct::default();
        let numbers = [0, 1, 63, 64, 1, 4096, 0, SMALL - 1, SMALL, u64::MAX, SMALL, SMALL - 1];
        numbers.iter().for_each(|number| distinct.add(*number));
        assert_eq!(distinct.count, 8);
    }
}

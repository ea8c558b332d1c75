//! The calls of one visit: a session, or a connection of the connection workload.
//!
//! A visit is a sequence of bursts. It tells when a call may be issued and is told when a reply is complete;
//! it does not choose the connection of a call.

use std::collections::VecDeque;
use std::time::Duration;

use httperf_plan::{Burst, Request, Script, Workload};

/// A visit.
///
/// ```text
///              handle_reply (last of the burst)
///   burst ──────────────────────────────► think ──► resume ──► burst …
///     └── last burst ──► finished
/// ```
#[derive(Debug)]
pub struct Visit<'p> {
    script: Position<'p>,
    /// Calls that may be issued now.
    ready: u64,
    /// Calls of this burst that wait for the reply to its first call.
    held: u64,
    /// Calls issued but not answered.
    outstanding: u64,
}

#[derive(Debug)]
enum Position<'p> {
    /// Calls from the run's URI source: number left for later bursts, and size of a burst.
    Counted { left: u64, burst: u64, pace: Pace },
    /// A session of a session file: the current burst, the number of its calls issued, and the bursts after
    /// it.
    Scripted { burst: &'p Burst, issued: usize, rest: &'p [Burst] },
    /// Pages: the number left, and the objects of the current page found but not yet fetched.
    Pages { left: u64, think: Duration, page_due: bool, objects: VecDeque<Vec<u8>> },
}

#[derive(Clone, Copy, Debug)]
enum Pace {
    /// All calls of a burst together, with this pause between bursts, if any.
    Together(Option<Duration>),
    /// This many calls outstanding at once: each reply makes room for the next call.
    Pipelined(u64),
    /// The first call of a burst alone, then the rest; a pause between bursts.
    LeadThenRest(Duration),
}

/// A call to issue.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<'p> {
    /// A call with the next URI of the run's source.
    FromSource,
    /// A call from a session file.
    Scripted(&'p Request),
    /// A page, with the next URI of the run's source.
    Page,
    /// An object of a page, given by its request target.
    Object(Vec<u8>),
}

/// Consequence of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Issue the ready calls, if any; replies may be outstanding.
    Continue,
    /// Wait this long, then call [`Visit::resume`].
    Think(Duration),
    /// The visit is over.
    Finished,
}

impl<'p> Visit<'p> {
    /// Creates the visit of arrival `index`.
    #[must_use]
    pub fn new(workload: &'p Workload, index: u64) -> Self {
        let script = match workload {
            Workload::Connections(connections) => Position::Counted {
                left: connections.calls,
                burst: connections.burst.get(),
                pace: match connections.pipeline.get() {
                    1 => Pace::Together((!connections.think.is_zero()).then_some(connections.think)),
                    depth => Pace::Pipelined(depth.into()),
                },
            },
            // Calls are assigned to it as they become due; those of a scenario, as its steps follow each other.
            Workload::Calls(_) | Workload::Scenarios(_) | Workload::Replay(_) => {
                Position::Counted { left: 0, burst: 1, pace: Pace::Together(None) }
            }
            Workload::Sessions(sessions) => match &sessions.script {
                Script::Uniform { calls, burst, think } => Position::Counted {
                    left: (*calls).max(1),
                    burst: burst.get(),
                    pace: Pace::LeadThenRest(*think),
                },
                Script::File(definitions) => {
                    let definition = &definitions[(index % definitions.len() as u64) as usize];
                    let (burst, rest) = definition.bursts.split_first();
                    Position::Scripted { burst, issued: 0, rest }
                }
                Script::Pages { pages, think } => Position::Pages {
                    left: (*pages).max(1),
                    think: *think,
                    page_due: false,
                    objects: VecDeque::new(),
                },
            },
        };
        let mut visit = Self { script, ready: 0, held: 0, outstanding: 0 };
        visit.start_burst();
        visit
    }

    /// Returns true if a call may be issued now.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready > 0
    }

    /// Returns true if nothing is outstanding and nothing can be issued without [`Visit::resume`].
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.ready == 0 && self.held == 0 && self.outstanding == 0
    }

    /// Number of calls without a reply, issued or not, as far as known.
    #[must_use]
    pub fn unanswered(&self) -> u64 {
        let later = match &self.script {
            Position::Counted { left, .. } | Position::Pages { left, .. } => *left,
            Position::Scripted { rest, .. } => rest.iter().map(|burst| burst.requests.len() as u64).sum(),
        };
        later.saturating_add(self.outstanding + self.ready + self.held)
    }

    /// Takes the next call to issue, if one is ready.
    pub fn next_call(&mut self) -> Option<Next<'p>> {
        if self.ready == 0 {
            return None;
        }
        self.ready -= 1;
        self.outstanding += 1;
        Some(match &mut self.script {
            Position::Counted { .. } => Next::FromSource,
            Position::Scripted { burst, issued, .. } => {
                *issued += 1;
                Next::Scripted(&burst.requests[*issued - 1])
            }
            Position::Pages { page_due, objects, .. } => {
                if std::mem::take(page_due) {
                    Next::Page
                } else {
                    Next::Object(objects.pop_front().expect("what is ready is the page or an object"))
                }
            }
        })
    }

    /// Adds an object found in a page, which becomes ready at once.
    pub fn add_object(&mut self, uri: Vec<u8>) {
        if let Position::Pages { objects, .. } = &mut self.script {
            objects.push_back(uri);
            self.ready += 1;
        }
    }

    /// Records the reply to a call.
    pub fn handle_reply(&mut self) -> Step {
        self.outstanding -= 1;
        self.ready += std::mem::take(&mut self.held);
        if let Position::Counted { left, pace: Pace::Pipelined(_), .. } = &mut self.script
            && *left > 0
        {
            *left -= 1;
            self.ready += 1;
        }
        if !self.is_idle() {
            return Step::Continue;
        }
        let more = match &self.script {
            Position::Counted { left, .. } | Position::Pages { left, .. } => *left > 0,
            Position::Scripted { rest, .. } => !rest.is_empty(),
        };
        match (&self.script, more) {
            (_, false) => Step::Finished,
            (Position::Counted { pace: Pace::Together(None) | Pace::Pipelined(_), .. }, true) => {
                self.start_burst();
                Step::Continue
            }
            (
                Position::Counted { pace: Pace::Together(Some(think)) | Pace::LeadThenRest(think), .. },
                true,
            )
            | (Position::Pages { think, .. }, true) => Step::Think(*think),
            (Position::Scripted { burst, .. }, true) => Step::Think(burst.think),
        }
    }

    /// Ends the pause: the next burst becomes ready.
    pub fn resume(&mut self) {
        if let Position::Scripted { burst, issued, rest } = &mut self.script
            && let Some((next, after)) = rest.split_first()
        {
            (*burst, *issued, *rest) = (next, 0, after);
        }
        self.start_burst();
    }

    /// Stops issuing calls because the run's URIs or its time are used up. Outstanding replies may still
    /// come. Returns true if there were calls left to issue.
    pub fn stop_issuing(&mut self) -> bool {
        let script_left = match &self.script {
            Position::Counted { left, .. } => *left > 0,
            Position::Scripted { burst, issued, rest } => *issued < burst.requests.len() || !rest.is_empty(),
            Position::Pages { left, objects, page_due, .. } => *left > 0 || *page_due || !objects.is_empty(),
        };
        let was_unfinished = script_left || self.ready > 0 || self.held > 0;
        self.ready = 0;
        self.held = 0;
        match &mut self.script {
            Position::Counted { left, .. } => *left = 0,
            Position::Scripted { rest, .. } => *rest = &[],
            Position::Pages { left, objects, page_due, .. } => {
                *left = 0;
                *page_due = false;
                objects.clear();
            }
        }
        was_unfinished
    }

    /// Takes back the call just taken, because it could not be made.
    pub fn untake(&mut self) {
        self.outstanding -= 1;
    }

    fn start_burst(&mut self) {
        let (size, lead) = match &mut self.script {
            Position::Counted { left, burst, pace } => {
                let together = if let Pace::Pipelined(depth) = pace { *depth } else { *burst };
                let size = (*left).min(together);
                *left -= size;
                (size, matches!(pace, Pace::LeadThenRest(_)))
            }
            Position::Scripted { burst, .. } => (burst.requests.len() as u64, true),
            Position::Pages { left, page_due, .. } => {
                *left -= 1;
                *page_due = true;
                (1, true)
            }
        };
        self.ready = if lead { size.min(1) } else { size };
        self.held = size - self.ready;
    }
}

#[cfg(test)]
mod tests {
    use httperf_plan::{Connections, NonEmpty, ScriptedSession, Sessions};

    use super::*;

    const THINK: Duration = Duration::from_millis(100);

    fn sessions(script: Script) -> Workload {
        Workload::Sessions(Sessions {
            count: 10,
            script,
            max_connections: 4.try_into().unwrap(),
            max_piped_calls: 32.try_into().unwrap(),
            retry_on_failure: false,
            failure_status: None,
            cookies: false,
            max_open: None,
        })
    }

    fn connections(calls: u64, burst: u64) -> Workload {
        closed_loop(calls, burst, 1, Duration::ZERO)
    }

    fn closed_loop(calls: u64, burst: u64, pipeline: u32, think: Duration) -> Workload {
        let (burst, pipeline) = (burst.try_into().unwrap(), pipeline.try_into().unwrap());
        Workload::Connections(Connections { count: 1, calls, burst, pipeline, think, max_open: None })
    }

    /// Runs a visit, answering each group of calls once all ready calls were issued. Returns the sizes of the
    /// groups, with `None` for each pause.
    fn pattern(workload: &Workload) -> Vec<Option<u64>> {
        let mut visit = Visit::new(workload, 0);
        let mut pattern = Vec::new();
        loop {
            let mut group = 0;
            while visit.next_call().is_some() {
                group += 1;
            }
            pattern.push(Some(group));
            let mut step = Step::Finished;
            for _ in 0..group {
                step = visit.handle_reply();
            }
            match step {
                Step::Finished => return pattern,
                Step::Continue => {}
                Step::Think(_) => {
                    pattern.push(None);
                    visit.resume();
                }
            }
        }
    }

    #[test]
    fn a_connection_makes_whole_bursts_and_a_shorter_last_one() {
        assert_eq!(pattern(&connections(6, 3)), [Some(3), Some(3)]);
        assert_eq!(pattern(&connections(5, 3)), [Some(3), Some(2)]);
        assert_eq!(pattern(&connections(2, 5)), [Some(2)]);
        assert_eq!(pattern(&connections(0, 1)), [Some(0)]);
    }

    #[test]
    fn a_connection_may_think_between_bursts() {
        assert_eq!(pattern(&closed_loop(3, 1, 1, THINK)), [Some(1), None, Some(1), None, Some(1)]);
        assert_eq!(pattern(&closed_loop(3, 2, 1, THINK)), [Some(2), None, Some(1)]);
    }

    #[test]
    fn a_pipeline_stays_full_until_the_last_calls() {
        let workload = closed_loop(5, 1, 3, Duration::ZERO);
        let mut visit = Visit::new(&workload, 0);
        let issue = |visit: &mut Visit<'_>| std::iter::from_fn(|| visit.next_call()).count();
        assert_eq!(issue(&mut visit), 3);
        for (issued, step) in [
            (1, Step::Continue),
            (1, Step::Continue),
            (0, Step::Continue),
            (0, Step::Continue),
            (0, Step::Finished),
        ] {
            assert_eq!(visit.handle_reply(), step);
            assert_eq!(issue(&mut visit), issued);
        }
    }

    #[test]
    fn a_session_leads_each_burst_with_one_call_and_thinks_between_bursts() {
        let uniform = |calls, burst: u64| {
            sessions(Script::Uniform { calls, burst: burst.try_into().unwrap(), think: THINK })
        };
        assert_eq!(pattern(&uniform(6, 3)), [Some(1), Some(2), None, Some(1), Some(2)]);
        assert_eq!(pattern(&uniform(3, 1)), [Some(1), None, Some(1), None, Some(1)]);
        assert_eq!(pattern(&uniform(4, 3)), [Some(1), Some(2), None, Some(1)]);
        assert_eq!(pattern(&uniform(0, 1)), [Some(1)]);
    }

    #[test]
    fn a_session_file_gives_requests_and_pauses_in_order() {
        let request = |uri: &str| Request {
            method: b"GET".to_vec(),
            uri: uri.as_bytes().to_vec(),
            contents: Vec::new(),
        };
        let burst = |uris: &[&str], ms| Burst {
            requests: uris.iter().map(|uri| request(uri)).collect::<Vec<_>>().try_into().unwrap(),
            think: Duration::from_millis(ms),
        };
        let workload = sessions(Script::File(NonEmpty::from([
            ScriptedSession { bursts: [burst(&["/a", "/b", "/c"], 200), burst(&["/d"], 50)].into() },
            ScriptedSession { bursts: [burst(&["/other"], 0)].into() },
        ])));
        assert_eq!(pattern(&workload), [Some(1), Some(2), None, Some(1)]);

        let mut visit = Visit::new(&workload, 2);
        let uri = |visit: &mut Visit<'_>| match visit.next_call() {
            Some(Next::Scripted(request)) => String::from_utf8(request.uri.clone()).unwrap(),
            other => panic!("unexpected {other:?}"),
        };
        assert_eq!(uri(&mut visit), "/a");
        assert_eq!(visit.next_call(), None, "the first call of a burst goes alone");
        assert_eq!(visit.handle_reply(), Step::Continue);
        assert_eq!((uri(&mut visit), uri(&mut visit)), ("/b".into(), "/c".into()));
        assert_eq!(visit.handle_reply(), Step::Continue);
        assert_eq!(visit.handle_reply(), Step::Think(Duration::from_millis(200)));
        visit.resume();
        assert_eq!(uri(&mut visit), "/d");
        assert_eq!(visit.handle_reply(), Step::Finished);
        assert_eq!(uri(&mut Visit::new(&workload, 3)), "/other");
    }

    #[test]
    fn objects_of_a_page_are_fetched_before_the_pause() {
        let workload = sessions(Script::Pages { pages: 2, think: THINK });
        let mut visit = Visit::new(&workload, 0);
        assert_eq!(visit.next_call(), Some(Next::Page));
        visit.add_object(b"/a.png".to_vec());
        assert_eq!(visit.next_call(), Some(Next::Object(b"/a.png".to_vec())));
        visit.add_object(b"/b.png".to_vec());
        assert_eq!(visit.handle_reply(), Step::Continue);
        assert_eq!(visit.next_call(), Some(Next::Object(b"/b.png".to_vec())));
        assert_eq!(visit.handle_reply(), Step::Continue);
        assert_eq!(visit.handle_reply(), Step::Think(THINK));
        visit.resume();
        assert_eq!(visit.next_call(), Some(Next::Page));
        assert_eq!(visit.handle_reply(), Step::Finished);
    }

    #[test]
    fn a_visit_that_stops_issuing_ends_with_its_last_reply() {
        let workload = connections(6, 2);
        let mut visit = Visit::new(&workload, 0);
        assert!(visit.next_call().is_some());
        assert!(visit.next_call().is_some());
        visit.untake();
        visit.stop_issuing();
        assert!(!visit.is_ready());
        assert_eq!(visit.handle_reply(), Step::Finished);
    }
}

//! A recording that is read while it is replayed: by a thread for each worker, ahead of time and in bounded memory.

use std::fs::File;
use std::io;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use httperf_engine::{RecordedRequests, Recording};
use httperf_import::Error;
use httperf_import::recording::Requests;
use httperf_load::replay;
use httperf_load::replay::RecordedRequest;
use httperf_plan::{Client, Plan, Recorded, RecordedForm, Replay, Shard, Workload};

use super::{Input, Making, as_io, open};

/// The number of requests that a thread is ahead.
const AHEAD: usize = 4096;

/// The same for requests of a language model, whose bodies are large: up to some MB each.
const MODEL_AHEAD: usize = 64;

/// A recording that is replayed.
#[derive(Debug)]
pub(crate) struct Playback {
    replay: Replay,
    client: Client,
    making: Making,
    failure: Arc<Mutex<Option<String>>>,
}

impl Playback {
    /// The recording of a plan; `None` if it replays none.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        let Workload::Replay(replay) = &plan.workload else { return None };
        Some(Self {
            replay: (**replay).clone(),
            client: plan.client,
            making: Making::of(replay, &plan.request.headers),
            failure: Arc::default(),
        })
    }

    /// Returns the reason for which the recording could not be read to its end, if it could not.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Recording for Playback {
    fn requests(&self, shard: Shard) -> io::Result<RecordedRequests> {
        let Recorded { path, form, .. } = &self.replay.recorded;
        let reader = Reader {
            requests: open(path, form).map_err(as_io)?,
            making: self.making.clone(),
            first_at: None,
            name: path.display().to_string(),
            failure: Arc::clone(&self.failure),
        };
        let requests = replay::Requests::new(reader, &self.replay, self.client, shard);
        let is_model = matches!(form, RecordedForm::Model { .. });
        let (sender, receiver) = sync_channel(if is_model { MODEL_AHEAD } else { AHEAD });
        thread::Builder::new().name(format!("reader {}", shard.index)).spawn(move || {
            for request in requests {
                // Whoever ends early takes no more.
                if sender.send(request).is_err() {
                    return;
                }
            }
        })?;
        // The first request is due at once: it is there before the run starts.
        let first = receiver.recv().ok();
        Ok(Box::new(first.into_iter().chain(receiver)))
    }
}

/// Reads requests that are made.
struct Reader {
    requests: Requests<Input<File>>,
    making: Making,
    /// The time at which the first that is made was recorded.
    first_at: Option<Duration>,
    name: String,
    failure: Arc<Mutex<Option<String>>>,
}

impl Reader {
    fn fail(&self, error: &Error) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert_with(|| error.about(&self.name));
    }
}

impl Iterator for Reader {
    type Item = RecordedRequest;

    fn next(&mut self) -> Option<RecordedRequest> {
        loop {
            match self.requests.read() {
                Ok(Some(request)) if self.making.makes(&request.method) => {
                    let at = request.at;
                    let first_at = *self.first_at.get_or_insert(at);
                    return Some(self.making.request(request, at.saturating_sub(first_at)));
                }
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(error) => {
                    self.fail(&error);
                    return None;
                }
            }
        }
    }
}

//! `--calls`: a row of CSV for each call, written by a thread of its own.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::mem;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use httperf_plan::{Plan, StreamedReplies, Streams, Workload, secrets};
use httperf_stats::{
    CallOutcome, Instant, KernelTimes, Mismatch, RecordedReply, Sample, StepCall, StreamCall,
};

use super::file;
use super::step_names::StepNames;

/// Calls that may wait to be written.
const QUEUE: usize = 65_536;

/// The names of the columns. Times of day are seconds since the start of the run; what did not happen is empty.
const COLUMNS: [&str; 17] = [
    "call",
    "due_s",
    "sent_s",
    "first_byte_s",
    "done_s",
    "latency_us",
    "service_us",
    "outcome",
    "status",
    "header_bytes",
    "content_bytes",
    "connection",
    "reused",
    "uri",
    "receive_lag_us",
    "send_lag_us",
    "kernel_us",
];

/// The names of further columns if the workload has scenarios.
const STEP_COLUMNS: [&str; 4] = ["scenario", "step", "load_phase", "failed_check"];

/// The names of further columns if the workload is a replay.
const RECORDED_COLUMNS: [&str; 2] = ["recorded_status", "recorded_us"];

/// The names of further columns, behind those, if replies are read as streams because an option says so.
const STREAM_COLUMNS: [&str; 7] = [
    "first_event_s",
    "events",
    "coalesced",
    "longest_gap_us",
    "first_token_s",
    "output_tokens",
    "per_token_us",
];

/// The names of further columns, behind those, of calls of gRPC.
const RPC_COLUMNS: [&str; 2] = ["grpc_status", "grpc_messages"];

/// The further columns of a plan's calls: those of its workload, of streams, and of gRPC.
struct Further {
    workload: OfWorkload,
    streams: bool,
    rpc: bool,
}

/// The further columns of a workload.
enum OfWorkload {
    None,
    Steps(StepNames),
    Recorded,
}

/// Writes calls to a file as they end. Who tells it of them is a [`CallSender`].
#[derive(Debug)]
pub struct CallLog {
    queue: SyncSender<Row>,
    writer: JoinHandle<csv::Result<()>>,
    file: PathBuf,
}

/// Tells a log of calls, one for each worker. It never waits.
#[derive(Debug)]
pub struct CallSender {
    queue: SyncSender<Row>,
    dropped: u64,
}

/// A call, as far as it is written.
#[derive(Debug)]
struct Row {
    call: u64,
    due: Duration,
    sent: Option<Duration>,
    first_byte: Option<Duration>,
    done: Duration,
    outcome: CallOutcome,
    mismatch: Option<Mismatch>,
    status: Option<u16>,
    header_size: u64,
    content_size: u64,
    connection: Option<u64>,
    is_reused: bool,
    uri: Box<[u8]>,
    receive_lag: Option<Duration>,
    kernel: KernelTimes,
    step: Option<StepCall>,
    recorded: Option<RecordedReply>,
    stream: Option<LoggedStream>,
    rpc: Option<LoggedRpc>,
}

/// A call of gRPC with a complete reply.
#[derive(Debug)]
struct LoggedRpc {
    status: Cow<'static, str>,
    messages: u64,
}

/// A stream, with its instants since the start of the run.
#[derive(Debug)]
struct LoggedStream {
    first_event: Option<Duration>,
    first_token: Option<Duration>,
    call: StreamCall,
}

impl CallLog {
    /// Begins a file for the calls of a plan.
    ///
    /// # Errors
    /// The reason why it cannot be written.
    pub fn create(name: &OsStr, plan: &Plan) -> anyhow::Result<Self> {
        let further = Further::of(plan);
        let cannot_write = || format!("--calls: cannot write `{}`", name.to_string_lossy());
        let mut table = file::create(name)
            .map_err(csv::Error::from)
            .and_then(|file| {
                let mut table = Table { file, length: 0, rows: csv::Writer::from_writer(Vec::new()) };
                table.rows.write_record(COLUMNS.iter().chain(further.names()))?;
                table.write_out()?;
                Ok(table)
            })
            .with_context(cannot_write)?;
        let (queue, rows) = sync_channel(QUEUE);
        let writer = std::thread::Builder::new()
            .name("calls".into())
            .spawn(move || write_all(&rows, &further, &mut table))
            .context("cannot start the thread that writes calls")?;
        Ok(Self { queue, writer, file: name.into() })
    }

    /// The sender for the calls of another worker.
    #[must_use]
    pub fn sender(&self) -> CallSender {
        CallSender { queue: self.queue.clone(), dropped: 0 }
    }

    /// Waits until all is written; all senders must be gone.
    ///
    /// # Errors
    /// The reason why something could not be written.
    pub fn finish(self) -> anyhow::Result<()> {
        drop(self.queue);
        let outcome = self.writer.join().expect("the thread that writes calls does not panic");
        outcome.with_context(|| format!("--calls: cannot write `{}`", self.file.display()))
    }
}

impl CallSender {
    /// Takes a call that has ended in a run that began at `start`.
    pub fn add(&mut self, sample: &Sample<'_>, start: Instant) {
        let row = Row {
            call: sample.call,
            due: sample.intended - start,
            sent: sample.sent.map(|sent| sent - start),
            first_byte: sample.first_byte.map(|first| first - start),
            done: sample.done - start,
            outcome: sample.outcome(),
            mismatch: sample.mismatch,
            status: sample.status,
            header_size: sample.header_size,
            content_size: sample.content_size,
            connection: sample.carrier.map(|carrier| carrier.connection),
            is_reused: sample.carrier.is_some_and(|carrier| carrier.reused),
            uri: sample.uri.into(),
            receive_lag: sample.receive_lag,
            kernel: sample.kernel.unwrap_or_default(),
            step: sample.step,
            recorded: sample.recorded,
            stream: sample.stream.map(|&call| LoggedStream {
                first_event: call.first_event.map(|first| first - start),
                first_token: call.first_token.map(|first| first - start),
                call,
            }),
            rpc: sample.rpc.map(|end| LoggedRpc { status: end.status.clone(), messages: end.received }),
        };
        // A writer that has failed takes nothing either: those calls are missing all the same.
        self.dropped += u64::from(self.queue.try_send(row).is_err());
    }

    /// The number of calls that could not be kept.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// A file that ends with a whole row at any time, also if the program is killed or the disk is full.
#[derive(Debug)]
struct Table {
    file: File,
    /// Bytes of whole rows.
    length: u64,
    /// Rows that wait to be written.
    rows: csv::Writer<Vec<u8>>,
}

/// The most bytes of rows that wait, roughly, and the longest time.
const WAITING_MAX: usize = 64 * 1024;
const WAIT_MAX: Duration = Duration::from_secs(1);

fn write_all(rows: &Receiver<Row>, further: &Further, table: &mut Table) -> csv::Result<()> {
    let mut written = std::time::Instant::now();
    loop {
        let is_over = match rows.recv_timeout(WAIT_MAX) {
            Ok(row) => {
                let mut record = row.record();
                further.add(&row, &mut record);
                table.rows.write_byte_record(&record)?;
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        };
        if is_over || table.rows.get_ref().len() >= WAITING_MAX || written.elapsed() >= WAIT_MAX {
            table.write_out()?;
            written = std::time::Instant::now();
        }
        if is_over {
            return Ok(());
        }
    }
}

impl Table {
    /// Writes the rows that wait. If that fails, no part of a row remains.
    fn write_out(&mut self) -> io::Result<()> {
        let writer = csv::Writer::from_writer(Vec::new());
        let rows =
            mem::replace(&mut self.rows, writer).into_inner().map_err(csv::IntoInnerError::into_error)?;
        let mut rest = &rows[..];
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return Err(self.cut(&rows, rest, io::ErrorKind::WriteZero.into())),
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.cut(&rows, rest, error)),
            }
        }
        self.length += rows.len() as u64;
        Ok(())
    }

    /// Takes the part of a row away that was written of `rows` before `rest`. What has no length to be cut (a pipe, a device) is
    /// beyond help.
    fn cut(&mut self, rows: &[u8], rest: &[u8], error: io::Error) -> io::Error {
        let written = &rows[..rows.len() - rest.len()];
        self.length += whole_rows(written) as u64;
        self.file.set_len(self.length).unwrap_or_default();
        error
    }
}

/// The length of the whole rows at the beginning of a text. A line end in quotes ends no row.
fn whole_rows(text: &[u8]) -> usize {
    let (mut is_quoted, mut length) = (false, 0);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' if !is_quoted => length = at + 1,
            _ => {}
        }
    }
    length
}

impl Further {
    fn of(plan: &Plan) -> Self {
        let workload = match StepNames::of(plan) {
            Some(steps) => OfWorkload::Steps(steps),
            None if matches!(plan.workload, Workload::Replay(_)) => OfWorkload::Recorded,
            None => OfWorkload::None,
        };
        let Streams { read, model, grpc, .. } = plan.replies.streams;
        let streams_messages = grpc.is_some_and(|grpc| grpc.server_streams);
        let streams = model.is_some() || read == StreamedReplies::All || streams_messages;
        Self { workload, streams, rpc: grpc.is_some() }
    }

    fn names(&self) -> impl Iterator<Item = &'static &'static str> {
        let of_workload: &'static [&'static str] = match self.workload {
            OfWorkload::None => &[],
            OfWorkload::Steps(_) => &STEP_COLUMNS,
            OfWorkload::Recorded => &RECORDED_COLUMNS,
        };
        let of_streams: &'static [&'static str] = if self.streams { &STREAM_COLUMNS } else { &[] };
        let of_rpc: &'static [&'static str] = if self.rpc { &RPC_COLUMNS } else { &[] };
        of_workload.iter().chain(of_streams).chain(of_rpc)
    }

    /// Adds the fields of these columns.
    fn add(&self, row: &Row, record: &mut csv::ByteRecord) {
        self.workload.add(row, record);
        if self.streams {
            stream_fields(row.stream.as_ref()).iter().for_each(|field| record.push_field(field.as_bytes()));
        }
        if self.rpc {
            let rpc = row.rpc.as_ref();
            record.push_field(rpc.map_or("", |rpc| &rpc.status).as_bytes());
            record.push_field(rpc.map_or_else(String::new, |rpc| rpc.messages.to_string()).as_bytes());
        }
    }
}

/// The fields of a stream; empty for what it did not have.
fn stream_fields(stream: Option<&LoggedStream>) -> [String; STREAM_COLUMNS.len()] {
    let Some(LoggedStream { first_event, first_token, call }) = stream else { return Default::default() };
    let instant = |instant: Option<Duration>| instant.map_or_else(String::new, seconds);
    let time = |time: Option<Duration>| time.map_or_else(String::new, micros);
    [
        instant(*first_event),
        call.events.to_string(),
        call.coalesced.to_string(),
        time(call.longest_gap),
        instant(*first_token),
        call.output_tokens.map_or_else(String::new, |tokens| tokens.to_string()),
        time(call.per_token),
    ]
}

impl OfWorkload {
    /// Adds the fields of these columns.
    fn add(&self, row: &Row, record: &mut csv::ByteRecord) {
        match self {
            Self::None => {}
            Self::Steps(steps) => {
                let [scenario, step, failed] =
                    row.step.map_or_else(Default::default, |step| steps.of_call(step));
                [&scenario, &step, steps.phase_at(row.due), &failed]
                    .iter()
                    .for_each(|field| record.push_field(field.as_bytes()));
            }
            Self::Recorded => {
                let RecordedReply { status, took } = row.recorded.unwrap_or_default();
                let status = status.map_or_else(String::new, |status| status.to_string());
                record.push_field(status.as_bytes());
                record.push_field(took.map_or_else(String::new, micros).as_bytes());
            }
        }
    }
}

/// An instant in seconds.
fn seconds(instant: Duration) -> String {
    format!("{}.{:09}", instant.as_secs(), instant.subsec_nanos())
}

/// A time in microseconds.
fn micros(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1e6)
}

impl Row {
    fn record(&self) -> csv::ByteRecord {
        let optional = |time: Option<Duration>| time.map_or_else(String::new, seconds);
        let service = self.sent.map(|sent| micros(self.done.saturating_sub(sent)));
        let texts = [
            self.call.to_string(),
            seconds(self.due),
            optional(self.sent),
            optional(self.first_byte),
            seconds(self.done),
            micros(self.done.saturating_sub(self.due)),
            service.unwrap_or_default(),
            match (self.outcome, self.mismatch) {
                (CallOutcome::Success, _) => "success".to_owned(),
                (CallOutcome::HttpError, _) => "http_error".to_owned(),
                (CallOutcome::Failure, _) => "failure".to_owned(),
                (CallOutcome::Unexpected, Some(mismatch)) => format!("unexpected_{mismatch}"),
                (CallOutcome::Unexpected, None) => "unexpected".to_owned(),
            },
            self.status.map_or_else(String::new, |status| status.to_string()),
            self.header_size.to_string(),
            self.content_size.to_string(),
            self.connection.map_or_else(String::new, |connection| connection.to_string()),
            if self.is_reused { "yes" } else { "no" }.to_owned(),
        ];
        let mut record: csv::ByteRecord = texts.iter().map(String::as_bytes).collect();
        match std::str::from_utf8(&self.uri) {
            Ok(uri) => record.push_field(secrets::url(uri).as_bytes()),
            Err(_) => record.push_field(&self.uri),
        }
        for time in [self.receive_lag, self.kernel.send_lag, self.kernel.service] {
            record.push_field(time.map_or_else(String::new, micros).as_bytes());
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use httperf_plan::{Grpc, HttpVersion};
    use httperf_stats::{FailedLook, GrpcEnd, StepPlace};
    use httperf_testkit::sim::{Edit, connections, scenarios};

    use super::*;

    fn sample(call: u64, status: Option<u16>) -> Sample<'static> {
        let at = |us: u64| Instant::from_nanos(us * 1000);
        Sample {
            call,
            uri: b"/a,\"b\"",
            status,
            intended: at(1_000_000),
            sent: status.map(|_| at(1_000_050)),
            stalled: Duration::ZERO,
            first_byte: status.map(|_| at(1_000_400)),
            done: at(1_000_500),
            header_size: 80,
            content_size: 5,
            footer_size: 0,
            decoded_size: None,
            mismatch: None,
            carrier: None,
            receive_lag: status.map(|_| Duration::from_nanos(7_250)),
            kernel: status.filter(|&status| status == 404).map(|_| KernelTimes {
                send_lag: Some(Duration::from_nanos(1_500)),
                service: Some(Duration::from_micros(430)),
            }),
            step: None,
            recorded: None,
            stream: None,
            rpc: None,
            expected: false,
        }
    }

    #[test]
    fn a_row_ends_outside_of_quotes() {
        assert_eq!(whole_rows(b"a,b\n1,2\n3"), 8);
        assert_eq!(whole_rows(b"a\n1,\"x\ny"), 2);
        assert_eq!(whole_rows(b"\"a\"\"\n\""), 0);
        assert_eq!(whole_rows(b""), 0);
    }

    #[test]
    fn a_table_that_cannot_grow_ends_with_a_whole_row() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let opened = File::options().write(true).open(file.path()).unwrap();
        let mut table = Table { file: opened, length: 0, rows: csv::Writer::from_writer(Vec::new()) };
        table.rows.write_record(["a", "b"]).unwrap();
        table.write_out().unwrap();
        table.file.write_all(b"1,2\n3,").unwrap();
        let error = table.cut(b"1,2\n3,4\n", b"4\n", io::ErrorKind::StorageFull.into());
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(std::fs::read(file.path()).unwrap(), b"a,b\n1,2\n");
    }

    #[test]
    fn each_call_is_a_row() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let log = CallLog::create(file.path().as_os_str(), &connections(1, 1, 1)).unwrap();
        let mut senders = [log.sender(), log.sender()];
        senders[0].add(&sample(0, Some(200)), Instant::default());
        senders[1].add(&sample(1, None), Instant::from_nanos(500_000_000));
        let unexpected = Sample { mismatch: Some(Mismatch::Size), ..sample(2, Some(404)) };
        senders[0].add(&unexpected, Instant::default());
        assert_eq!(senders.map(|sender| sender.dropped()), [0, 0]);
        log.finish().unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        let rows: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            rows,
            [
                "0,1.000000000,1.000050000,1.000400000,1.000500000,500.000,450.000,success,200,80,5,,no,\"/a,\"\"b\"\"\",7.250,,",
                "1,0.500000000,,,0.500500000,500.000,,failure,,80,5,,no,\"/a,\"\"b\"\"\",,,",
                "2,1.000000000,1.000050000,1.000400000,1.000500000,500.000,450.000,unexpected_size,404,80,5,,no,\"/a,\"\"b\"\"\",7.250,1.500,430.000",
            ]
        );
    }

    #[test]
    fn calls_of_streams_tell_of_their_events_if_an_option_says_so() {
        let call = StreamCall {
            first_event: Some(Instant::from_nanos(1_000_450_000)),
            events: 9,
            coalesced: 2,
            longest_gap: Some(Duration::from_micros(12)),
            first_token: Some(Instant::from_nanos(1_000_460_000)),
            output_tokens: Some(8),
            per_token: Some(Duration::from_nanos(2500)),
        };
        let read = |streams| {
            let file = tempfile::NamedTempFile::new().unwrap();
            let plan = connections(1, 1, 1).with(|plan| plan.replies.streams = streams);
            let log = CallLog::create(file.path().as_os_str(), &plan).unwrap();
            let mut sender = log.sender();
            sender.add(&Sample { stream: Some(&call), ..sample(0, Some(200)) }, Instant::default());
            sender.add(&sample(1, Some(200)), Instant::default());
            drop(sender);
            log.finish().unwrap();
            let text = std::fs::read_to_string(file.path()).unwrap();
            text.lines()
                .map(|line| line.split_once("7.250,,").map_or(line, |(_, end)| end).to_owned())
                .collect::<Vec<_>>()
        };
        let all = Streams { read: StreamedReplies::All, ..Streams::default() };
        let lines = read(all);
        assert!(lines[0].ends_with(&format!(",kernel_us,{}", STREAM_COLUMNS.join(","))), "{}", lines[0]);
        assert_eq!(lines[1..], [",1.000450000,9,2,12.000,1.000460000,8,2.500", ",,,,,,,"]);
        assert_eq!(read(Streams::default())[1..], ["", ""]);
    }

    #[test]
    fn calls_of_grpc_tell_of_their_status() {
        let end = GrpcEnd { status: "NOT_FOUND".into(), is_told: true, received: 3, ..GrpcEnd::default() };
        let file = tempfile::NamedTempFile::new().unwrap();
        let plan = connections(1, 1, 1).with(|plan| {
            plan.request.version = HttpVersion::Http2;
            plan.replies.streams.grpc = Some(Grpc { server_streams: true });
        });
        let log = CallLog::create(file.path().as_os_str(), &plan).unwrap();
        let mut sender = log.sender();
        let unexpected = Sample { rpc: Some(&end), mismatch: Some(Mismatch::Rpc), ..sample(0, Some(200)) };
        sender.add(&unexpected, Instant::default());
        sender.add(&sample(1, None), Instant::default());
        drop(sender);
        log.finish().unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with(",per_token_us,grpc_status,grpc_messages"), "{}", lines[0]);
        assert!(
            lines[1].contains(",unexpected_grpc,200,") && lines[1].ends_with(",,,,,,,NOT_FOUND,3"),
            "{}",
            lines[1]
        );
        assert!(lines[2].ends_with(",,,,,,,,"), "{}", lines[2]);
    }

    #[test]
    fn calls_of_scenarios_have_names_for_what_they_belong_to() {
        let workload = r#"
            base = "http://shop"
            [arrivals]
            phases = [
              { name = "ramp", for = "1s", rate = "10/s" },
              { name = "hold, long", for = "9s", rate = "10/s" },
            ]
            [[scenario]]
            name = "visitor"
            steps = [{ run = "a.hurl" }, { run = "b.hurl" }]
        "#;
        let plan = scenarios(
            workload,
            &[
                ("a.hurl", "# @name look\nGET {{base}}/a\nHTTP 200\n"),
                (
                    "b.hurl",
                    "# @name buy\nGET {{base}}/b\nHTTP 201\n[Captures]\nid: header \"Id\"\n\
                     [Asserts]\nbytes count == 4\nbody contains \"x\"\n",
                ),
            ],
        );
        let file = tempfile::NamedTempFile::new().unwrap();
        let log = CallLog::create(file.path().as_os_str(), &plan).unwrap();
        let mut sender = log.sender();
        let looks = [
            (0, None),
            (0, Some(FailedLook::Status)),
            (1, Some(FailedLook::Capture(0))),
            (1, Some(FailedLook::Check(1))),
        ];
        for (call, (step, failed)) in (0..).zip(looks) {
            let place = StepPlace { scenario: 0, step };
            let sample = Sample { step: Some(StepCall { place, failed }), ..sample(call, Some(200)) };
            sender.add(&sample, Instant::from_nanos(if call < 2 { 500_000_000 } else { 0 }));
        }
        drop(sender);
        log.finish().unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        let further = |line: &str| line.splitn(18, ',').last().unwrap().to_owned();
        assert_eq!(
            text.lines().map(further).collect::<Vec<_>>(),
            [
                "scenario,step,load_phase,failed_check",
                // The URI has a comma.
                ",visitor,look,ramp,",
                ",visitor,look,ramp,HTTP 200",
                ",visitor,buy,\"hold, long\",\"id: header \"\"Id\"\"\"",
                ",visitor,buy,\"hold, long\",\"body contains \"\"x\"\"\"",
            ]
        );
    }

    #[test]
    fn a_disk_that_is_full_is_told_and_its_calls_are_counted_as_missing() {
        let (queue, rows) = sync_channel(1);
        let log = CallLog {
            queue,
            writer: std::thread::spawn(move || {
                drop(rows);
                Err(io::Error::from(io::ErrorKind::StorageFull).into())
            }),
            file: "full".into(),
        };
        let mut sender = log.sender();
        while sender.dropped() < 3 {
            sender.add(&sample(0, Some(200)), Instant::default());
        }
        drop(sender);
        assert!(log.finish().unwrap_err().to_string().starts_with("--calls: cannot write `full`"));
    }
}

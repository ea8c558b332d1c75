//! The server's own description of its services: server reflection, version 1, and the older v1alpha where that is not there.
//!
//! The question is a call like any of the run, made by the same engine over the same way. Both versions have the same
//! messages.
//!
//! <https://github.com/grpc/grpc/blob/master/doc/server-reflection.md>

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Read;
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use httperf_engine::{Observation, Observer, StopRequest};
use httperf_plan::{
    Arrivals, Body, Connections, Grpc, Objectives, Parts, Phases, Plan, Recording, Template, Timeouts,
    UriSource, Watch, Workload,
};
use httperf_proto::grpc::frame;
use httperf_report::no_reply;
use httperf_stats::{Summary, Tally};
use prost::Message;
use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::FileDescriptorProto;
use thiserror::Error;

use super::{files, listed};

/// The reasons for which a server does not describe its services.
#[derive(Debug, Error)]
pub enum ReflectionError {
    /// A service that the server does not know.
    #[error(
        "--grpc: expected a service that the server describes, got `{service}`; it describes {}\nhint: --proto FILE or \
         --protoset FILE describes it; --grpc-raw FILE sends bytes",
        listed(.known)
    )]
    Unknown {
        /// The service.
        service: String,
        /// Those that it knows.
        known: Vec<String>,
    },
    /// A server that does not answer questions.
    #[error(
        "--grpc: the server does not describe its services ({0})\nhint: --proto FILE or --protoset FILE describes them; \
         --grpc-raw FILE sends bytes"
    )]
    Silent(String),
    /// No answer at all.
    #[error("--grpc: the server cannot be asked to describe its services: {0}")]
    Unreached(String),
    /// An answer that is not what it should be.
    #[error("--grpc: the server's description of its services cannot be understood: {0}")]
    Malformed(String),
}

/// The time that an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum number of rounds of questions. Each asks for all imported files that are missing; imports are nested far less.
const ROUNDS_MAX: usize = 100;

/// The services of reflection, newest first.
const SERVICES: [&str; 2] =
    ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"];

/// The status of a service that is not there.
const UNIMPLEMENTED: &str = "UNIMPLEMENTED";

/// Asks the server of a plan to describe a service, and all that its messages consist of.
pub(super) fn ask(plan: &Plan, service: &str) -> Result<DescriptorPool, ReflectionError> {
    let mut refusal = String::new();
    for reflection in SERVICES {
        let server = Server { plan, reflection };
        match server.describe(service) {
            Err(Failure::Refused { status, .. }) if status == UNIMPLEMENTED => refusal = status,
            Err(Failure::Refused { status, message }) => {
                let said = if message.is_empty() { status } else { message };
                return Err(ReflectionError::Silent(said));
            }
            Err(Failure::Other(error)) => return Err(error),
            Ok(pool) => return Ok(pool),
        }
    }
    Err(ReflectionError::Silent(format!("{refusal} for {}", SERVICES.join(" and "))))
}

/// A server, and the version of reflection in which it is asked.
struct Server<'a> {
    plan: &'a Plan,
    reflection: &'static str,
}

/// The end of a question.
enum Failure {
    /// A status other than OK.
    Refused {
        status: String,
        /// The status and the server's words.
        message: String,
    },
    Other(ReflectionError),
}

impl From<ReflectionError> for Failure {
    fn from(error: ReflectionError) -> Self {
        Self::Other(error)
    }
}

impl Server<'_> {
    fn describe(&self, service: &str) -> Result<DescriptorPool, Failure> {
        let mut files = Files::default();
        let mut questions = vec![Question::FileContainingSymbol(service.to_owned())];
        for _ in 0..ROUNDS_MAX {
            for answer in self.answers(&questions)? {
                match answer.message_response {
                    Some(Answer::Error(_)) if files.0.is_empty() => {
                        let known = self.services()?;
                        return Err(ReflectionError::Unknown { service: service.to_owned(), known }.into());
                    }
                    answer => files.add(answer)?,
                }
            }
            questions = files.missing();
            if questions.is_empty() {
                return Ok(files.into_pool()?);
            }
        }
        Err(malformed(&"its files never come to an end").into())
    }

    /// The names of all services.
    fn services(&self) -> Result<Vec<String>, Failure> {
        let answers = self.answers(&[Question::ListServices(String::new())])?;
        let lists = answers.into_iter().filter_map(|answer| match answer.message_response {
            Some(Answer::ListServices(list)) => Some(list.service),
            _ => None,
        });
        let mut names: Vec<String> = lists.flatten().map(|service| service.name).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Asks questions, all in one call.
    fn answers(&self, questions: &[Question]) -> Result<Vec<Response>, Failure> {
        let mut body = Vec::new();
        for question in questions {
            let request = Request { host: String::new(), message_request: Some(question.clone()) };
            frame(&request.encode_to_vec(), &mut body);
        }
        let plan = self.plan_of(&body);
        let mut reply = Reply::default();
        let unreached = |reason: String| Failure::Other(ReflectionError::Unreached(reason));
        let stop = StopRequest::new().map_err(|error| unreached(error.to_string()))?;
        let summary = httperf_engine::run(&plan, &mut [&mut reply], &stop)
            .map_err(|error| unreached(error.to_string()))?;
        judge(&plan, &summary)?;
        let answers = reply.answers()?;
        if answers.len() == questions.len() {
            Ok(answers)
        } else {
            Err(malformed(&"an answer is missing").into())
        }
    }

    /// The plan of one call.
    fn plan_of(&self, body: &[u8]) -> Plan {
        let plan = self.plan.clone().edit(|plan| {
            plan.targets = plan.targets.clone().take(1);
            plan.arrivals = Arrivals::Sequential;
            plan.workload = Workload::Connections(Connections::new(1, 1));
            plan.uris = UriSource::Fixed(format!("/{}/ServerReflectionInfo", self.reflection).into_bytes());
            plan.request.body = Some(Body::text(Template::literal(body)));
            plan.request.headers.retain(|header| !header.is("grpc-timeout"));
            plan.replies = httperf_plan::Replies::default();
            plan.replies.streams.grpc = Some(Grpc { server_streams: true });
            plan.timeouts = Timeouts { timeout: Some(PATIENCE), ..plan.timeouts };
            plan.runtime = Some(PATIENCE);
            plan.phases = Phases::default();
            plan.until = None;
            plan.objectives = Objectives::default();
            plan.recording = Recording { detail: true, split: None, slowest: 0, ..plan.recording };
            plan.threads = None;
            plan.spin = false;
            plan.watch = Watch { replies: Some(Parts::Body), ..Watch::default() };
        });
        plan.expect("whoever may make many calls may make one")
    }
}

/// The files that the server has sent, each once.
#[derive(Default)]
struct Files(Vec<FileDescriptorProto>);

impl Files {
    fn add(&mut self, answer: Option<Answer>) -> Result<(), ReflectionError> {
        let found = match answer {
            Some(Answer::FileDescriptor(found)) => found.file_descriptor_proto,
            Some(Answer::Error(error)) => return Err(malformed(&error.error_message)),
            Some(Answer::ListServices(_)) | None => return Err(malformed(&"no files")),
        };
        for bytes in found {
            let file = files::decode(&bytes).map_err(|reason| malformed(&reason))?;
            if self.0.iter().all(|known| known.name != file.name) {
                self.0.push(file);
            }
        }
        Ok(())
    }

    /// The questions for files that others import.
    fn missing(&self) -> Vec<Question> {
        let known: BTreeSet<&str> = self.0.iter().map(FileDescriptorProto::name).collect();
        let named: BTreeSet<&str> =
            self.0.iter().flat_map(|file| &file.dependency).map(String::as_str).collect();
        named.difference(&known).map(|&name| Question::FileByFilename(name.to_owned())).collect()
    }

    fn into_pool(self) -> Result<DescriptorPool, ReflectionError> {
        let mut pool = DescriptorPool::new();
        files::add(&mut pool, self.0).map_err(|reason| malformed(&reason))?;
        Ok(pool)
    }
}

/// Reads a reply and all files in it, for fuzzing.
#[cfg(any(test, fuzzing))]
pub(super) fn read(body: &[u8]) -> Result<DescriptorPool, ReflectionError> {
    let mut files = Files::default();
    for answer in Reply(body.to_vec()).answers()? {
        files.add(answer.message_response)?;
    }
    files.into_pool()
}

/// Refuses a run whose call did not end with status OK.
fn judge(plan: &Plan, summary: &Summary) -> Result<(), Failure> {
    let grpc = summary.grpc.as_deref();
    if grpc.is_some_and(|grpc| grpc.ok() == 1) {
        return Ok(());
    }
    let most_frequent = |names: &Tally| names.by_frequency().first().map(|(name, _)| (*name).to_owned());
    match grpc.and_then(|grpc| most_frequent(&grpc.statuses)) {
        Some(status) => {
            let message = grpc.and_then(|grpc| most_frequent(&grpc.messages)).unwrap_or_default();
            Err(Failure::Refused { status, message })
        }
        None => {
            let reason = no_reply(plan, summary).unwrap_or_else(|| "it did not answer".to_owned());
            Err(ReflectionError::Unreached(reason).into())
        }
    }
}

fn malformed(reason: &impl ToString) -> ReflectionError {
    ReflectionError::Malformed(reason.to_string())
}

/// The body of the reply, as far as it is kept.
#[derive(Debug, Default)]
struct Reply(Vec<u8>);

/// Maximum size of a reply, and of each of its messages when it is decompressed.
const REPLY_SIZE_MAX: usize = 64 << 20;

impl Observer for Reply {
    fn observe(&mut self, what: Observation<'_>) {
        if let Observation::ReplyBody { data, .. } = what {
            // A reply that is larger is cut, and refused for that.
            let room = REPLY_SIZE_MAX - self.0.len();
            self.0.extend_from_slice(&data[..data.len().min(room)]);
        }
    }
}

impl Reply {
    fn answers(&self) -> Result<Vec<Response>, ReflectionError> {
        let (mut rest, mut answers) = (&self.0[..], Vec::new());
        while !rest.is_empty() {
            let (is_compressed, message, behind) =
                split_message(rest).ok_or_else(|| malformed(&"a message is cut"))?;
            let message = if is_compressed { decompressed(message)?.into() } else { Cow::Borrowed(message) };
            answers.push(Response::decode(&message[..]).map_err(|error| malformed(&error))?);
            rest = behind;
        }
        Ok(answers)
    }
}

/// Splits off the first message, and says whether it is compressed; `None` if it is cut.
fn split_message(bytes: &[u8]) -> Option<(bool, &[u8], &[u8])> {
    let (&[flag, length @ ..], behind) = bytes.split_first_chunk::<5>()?;
    let (message, behind) = behind.split_at_checked(usize::try_from(u32::from_be_bytes(length)).ok()?)?;
    Some((flag != 0, message, behind))
}

/// Decompresses a message by gzip, the one coding that is accepted.
fn decompressed(message: &[u8]) -> Result<Vec<u8>, ReflectionError> {
    let mut plain = Vec::new();
    let mut reader = MultiGzDecoder::new(message).take(REPLY_SIZE_MAX as u64 + 1);
    reader.read_to_end(&mut plain).map_err(|error| malformed(&error))?;
    if plain.len() > REPLY_SIZE_MAX { Err(malformed(&"a message is too large")) } else { Ok(plain) }
}

#[derive(Clone, PartialEq, prost::Message)]
struct Request {
    #[prost(string, tag = "1")]
    host: String,
    #[prost(oneof = "Question", tags = "3, 4, 7")]
    message_request: Option<Question>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Question {
    #[prost(string, tag = "3")]
    FileByFilename(String),
    #[prost(string, tag = "4")]
    FileContainingSymbol(String),
    #[prost(string, tag = "7")]
    ListServices(String),
}

#[derive(Clone, PartialEq, prost::Message)]
struct Response {
    #[prost(oneof = "Answer", tags = "4, 6, 7")]
    message_response: Option<Answer>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Answer {
    #[prost(message, tag = "4")]
    FileDescriptor(FileDescriptorResponse),
    #[prost(message, tag = "6")]
    ListServices(ListServiceResponse),
    #[prost(message, tag = "7")]
    Error(ErrorResponse),
}

#[derive(Clone, PartialEq, prost::Message)]
struct FileDescriptorResponse {
    #[prost(bytes = "vec", repeated, tag = "1")]
    file_descriptor_proto: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ListServiceResponse {
    #[prost(message, repeated, tag = "1")]
    service: Vec<ServiceResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ServiceResponse {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ErrorResponse {
    #[prost(int32, tag = "1")]
    error_code: i32,
    #[prost(string, tag = "2")]
    error_message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_read_message_by_message() {
        let answer = |name: &str| Response {
            message_response: Some(Answer::ListServices(ListServiceResponse {
                service: vec![ServiceResponse { name: name.to_owned() }],
            })),
        };
        let mut body = Vec::new();
        frame(&answer("a.B").encode_to_vec(), &mut body);
        let mut compressed = Vec::new();
        let plain = answer("c.D").encode_to_vec();
        flate2::read::GzEncoder::new(&plain[..], flate2::Compression::fast())
            .read_to_end(&mut compressed)
            .unwrap();
        let second = body.len();
        frame(&compressed, &mut body);
        body[second] = 1;
        assert_eq!(Reply(body.clone()).answers().unwrap(), [answer("a.B"), answer("c.D")]);
        for end in [1, 4, 7, body.len() - 1] {
            let error = Reply(body[..end].to_vec()).answers().unwrap_err().to_string();
            assert!(error.ends_with("cannot be understood: a message is cut"), "{end}: {error}");
        }
        body.truncate(second);
        body[0] = 1;
        let error = Reply(body).answers().unwrap_err().to_string();
        assert!(error.contains("cannot be understood: "), "{error}");
    }

    #[test]
    fn questions_are_what_servers_expect() {
        let request =
            |question| Request { host: String::new(), message_request: Some(question) }.encode_to_vec();
        assert_eq!(request(Question::FileContainingSymbol("a.B".to_owned())), b"\x22\x03a.B");
        assert_eq!(request(Question::FileByFilename("f".to_owned())), b"\x1a\x01f");
        assert_eq!(request(Question::ListServices(String::new())), b"\x3a\0");
    }
}

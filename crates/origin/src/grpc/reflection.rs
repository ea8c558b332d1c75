//! `grpc.reflection`: the server shows its services. Both versions have the same messages.

use super::conclusion::NOT_FOUND;
use super::descriptors;

/// A question.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ServerReflectionRequest {
    #[prost(string, tag = "1")]
    host: String,
    #[prost(oneof = "Question", tags = "3, 4, 5, 6, 7")]
    message_request: Option<Question>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Question {
    #[prost(string, tag = "3")]
    FileByFilename(String),
    #[prost(string, tag = "4")]
    FileContainingSymbol(String),
    #[prost(message, tag = "5")]
    FileContainingExtension(ExtensionRequest),
    #[prost(string, tag = "6")]
    AllExtensionNumbersOfType(String),
    #[prost(string, tag = "7")]
    ListServices(String),
}

#[derive(Clone, PartialEq, prost::Message)]
struct ExtensionRequest {
    #[prost(string, tag = "1")]
    containing_type: String,
    #[prost(int32, tag = "2")]
    extension_number: i32,
}

/// The answer to a question.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ServerReflectionResponse {
    #[prost(string, tag = "1")]
    valid_host: String,
    #[prost(message, optional, tag = "2")]
    original_request: Option<ServerReflectionRequest>,
    // 5, numbers of extensions, is never sent: no message has any.
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

impl ServerReflectionRequest {
    /// Answers the question.
    pub(crate) fn answer(self) -> ServerReflectionResponse {
        let answer = match &self.message_request {
            Some(Question::FileByFilename(name)) => file(descriptors::file(name), name),
            Some(Question::FileContainingSymbol(symbol)) => file(descriptors::file_of_symbol(symbol), symbol),
            Some(Question::FileContainingExtension(extension)) => not_found(&extension.containing_type),
            Some(Question::AllExtensionNumbersOfType(name)) => not_found(name),
            Some(Question::ListServices(_)) => Answer::ListServices(ListServiceResponse {
                service: descriptors::services().into_iter().map(|name| ServiceResponse { name }).collect(),
            }),
            None => not_found("nothing that is known was asked for"),
        };
        ServerReflectionResponse {
            valid_host: self.host.clone(),
            original_request: Some(self),
            message_response: Some(answer),
        }
    }
}

fn file(descriptor: Option<Vec<u8>>, name: &str) -> Answer {
    match descriptor {
        Some(descriptor) => {
            Answer::FileDescriptor(FileDescriptorResponse { file_descriptor_proto: vec![descriptor] })
        }
        None => not_found(name),
    }
}

fn not_found(name: &str) -> Answer {
    let message = format!("not found: {name}");
    Answer::Error(ErrorResponse { error_code: NOT_FOUND.0.into(), error_message: message })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(question: Question) -> Answer {
        let request = ServerReflectionRequest { host: "h".to_owned(), message_request: Some(question) };
        let response = request.clone().answer();
        assert_eq!((&response.valid_host[..], &response.original_request), ("h", &Some(request)));
        response.message_response.unwrap()
    }

    #[track_caller]
    fn check_not_found(question: Question) {
        let Answer::Error(error) = answer(question) else { panic!("found") };
        assert_eq!(error.error_code, 5, "{error:?}");
    }

    #[test]
    fn what_exists_is_found() {
        let Answer::ListServices(list) = answer(Question::ListServices(String::new())) else {
            panic!("no list")
        };
        assert_eq!(list.service.len(), 4);
        let by_name = answer(Question::FileByFilename("httperf/test.proto".to_owned()));
        let by_symbol = answer(Question::FileContainingSymbol("httperf.Test.Echo".to_owned()));
        assert!(matches!(by_name, Answer::FileDescriptor(_)));
        assert_eq!(by_name, by_symbol);
    }

    #[test]
    fn what_does_not_exist_is_not() {
        check_not_found(Question::FileByFilename("oops.proto".to_owned()));
        check_not_found(Question::FileContainingSymbol("oops.Oops".to_owned()));
        check_not_found(Question::AllExtensionNumbersOfType("httperf.Reply".to_owned()));
        let containing_type = "httperf.Reply".to_owned();
        check_not_found(Question::FileContainingExtension(ExtensionRequest {
            containing_type,
            extension_number: 1,
        }));
        let Some(Answer::Error(_)) = ServerReflectionRequest::default().answer().message_response else {
            panic!("an answer to nothing")
        };
    }
}

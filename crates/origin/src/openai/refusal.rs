//! Errors as OpenAI's server words them.

use hyper::{Method, StatusCode};
use serde_json::json;

/// A request that gets an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    message: String,
    /// The field of the request that it is about.
    param: Option<&'static str>,
    code: Option<&'static str>,
}

impl Refusal {
    /// Refuses a field of the request.
    pub(super) fn param(param: &'static str, message: impl Into<String>) -> Self {
        Self { param: Some(param), ..Self::new(StatusCode::BAD_REQUEST, message) }
    }

    /// Refuses a body that is not JSON.
    pub(super) fn not_json(error: &serde_json::Error) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            format!("We could not parse the JSON body of your request: {error}."),
        )
    }

    /// Refuses a body that is JSON, but no object.
    pub(super) fn not_an_object() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "The JSON body of your request must be an object.")
    }

    pub(super) fn too_large(size_max: usize) -> Self {
        let message = format!("The body of your request is larger than {size_max} bytes.");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    pub(super) fn unknown_path(method: &Method, path: &str) -> Self {
        let message = format!("Invalid URL ({method} {path})");
        Self { code: Some("unknown_url"), ..Self::new(StatusCode::NOT_FOUND, message) }
    }

    pub(super) fn wrong_method(method: &Method, path: &str) -> Self {
        let message = format!("Not allowed to {method} on {path}.");
        Self { code: Some("method_not_supported"), ..Self::new(StatusCode::METHOD_NOT_ALLOWED, message) }
    }

    pub(super) fn overloaded() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "Too many requests are waiting.")
    }

    /// Makes an error of a status that the server was told to answer with.
    pub(super) fn status(status: StatusCode) -> Self {
        Self::new(status, format!("This server was told to answer with {status}."))
    }

    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), param: None, code: None }
    }

    fn kind(&self) -> &'static str {
        match self.status {
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        }
    }

    /// Returns the JSON document.
    pub(super) fn document(&self) -> String {
        let Self { message, param, code, .. } = self;
        json!({ "error": { "message": message, "type": self.kind(), "param": param, "code": code } })
            .to_string()
    }
}

//! `grpc.health.v1.Health`: the server and its test service are always well.

use std::collections::BTreeMap;

use super::conclusion::{Conclusion, NOT_FOUND};

/// The message of Check and Watch.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct HealthCheckRequest {
    #[prost(string, tag = "1")]
    service: String,
}

/// Their answer.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct HealthCheckResponse {
    #[prost(enumeration = "ServingStatus", tag = "1")]
    status: i32,
}

/// The statuses that are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
enum ServingStatus {
    Unknown = 0,
    Serving = 1,
    NotServing = 2,
    ServiceUnknown = 3,
}

/// The message of List.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct HealthListRequest {}

/// Its answer.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct HealthListResponse {
    #[prost(btree_map = "string, message", tag = "1")]
    statuses: BTreeMap<String, HealthCheckResponse>,
}

/// The names that are known; the empty one stands for the whole server.
const SERVICES: [&str; 2] = ["", "httperf.Test"];

const SERVING: HealthCheckResponse = HealthCheckResponse { status: ServingStatus::Serving as i32 };

impl HealthCheckRequest {
    /// The answer of Check.
    pub(super) fn check(&self) -> Result<HealthCheckResponse, Conclusion> {
        if !self.is_known() {
            return Err(Conclusion::new(NOT_FOUND, "unknown service"));
        }
        Ok(SERVING)
    }

    /// The answer of Watch, which never changes.
    pub(super) fn watch(&self) -> HealthCheckResponse {
        if self.is_known() {
            SERVING
        } else {
            HealthCheckResponse { status: ServingStatus::ServiceUnknown.into() }
        }
    }

    fn is_known(&self) -> bool {
        SERVICES.contains(&self.service.as_str())
    }
}

impl HealthListRequest {
    /// The answer of List.
    pub(super) fn list(self) -> HealthListResponse {
        HealthListResponse { statuses: SERVICES.map(|service| (service.to_owned(), SERVING)).into() }
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    fn about(service: &str) -> HealthCheckRequest {
        HealthCheckRequest { service: service.to_owned() }
    }

    #[test]
    fn known_services_are_well() {
        for service in SERVICES {
            assert_eq!(about(service).check().unwrap().encode_to_vec(), [8, 1], "{service}");
            assert_eq!(about(service).watch(), SERVING);
        }
    }

    #[test]
    fn a_service_that_is_unknown_is_not_found_but_watched() {
        assert_eq!(about("x").check().unwrap_err().status, NOT_FOUND);
        assert_eq!(about("x").watch().encode_to_vec(), [8, 3]);
    }

    #[test]
    fn all_services_are_listed() {
        let list = HealthListRequest::default().list();
        assert_eq!(list.statuses.keys().collect::<Vec<_>>(), SERVICES.iter().collect::<Vec<_>>());
    }
}

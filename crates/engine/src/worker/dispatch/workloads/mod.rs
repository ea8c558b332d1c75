//! The kinds of workload: what their arrivals start, and what follows a reply or a failure.

mod calls;
mod connections;
mod page;
mod replay;
mod scenarios;
mod sessions;

pub(super) use self::calls::ConnectionPool;
pub(super) use self::connections::SingleConnections;
pub(super) use self::replay::Replaying;
pub(super) use self::scenarios::ScenarioVisits;
pub(super) use self::sessions::UserSessions;

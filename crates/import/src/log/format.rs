//! The formats of access logs, from the line of a server's configuration that defines them, or by name.

use crate::error::Flaw;
use crate::report::shortened;

use super::apache;
use super::nginx;
use super::pattern::{Escape, Pattern};
use super::stamp::{Clock, Resolution, Stamps};

/// The format of an access log.
#[derive(Clone, Debug)]
pub struct Format {
    pub(super) name: String,
    pub(super) layout: Layout,
}

/// The way in which a line is taken apart.
#[derive(Clone, Debug)]
pub(super) enum Layout {
    Text {
        pattern: Pattern,
        clock: Clock,
    },
    /// Caddy's objects of JSON.
    Caddy,
}

/// A format that has a name.
struct Named {
    names: &'static [&'static str],
    /// The name in reports.
    shown: &'static str,
    /// The definition, in the notation of the server that writes it.
    definition: Definition,
}

enum Definition {
    Nginx(&'static str),
    Apache(&'static str),
    /// A log of one of several servers, which do not stamp the same instant.
    EitherServer(&'static str),
    Caddy,
}

/// The formats with a name, the more specific ones first: the first that fits a log is taken for its format.
const NAMED: &[Named] = &[
    Named { names: &["caddy"], shown: "caddy", definition: Definition::Caddy },
    Named {
        names: &["alb"],
        shown: "alb",
        // What follows the creation time differs by the age of the log.
        definition: Definition::Nginx(
            "$type $time_iso8601 $elb $client_and_port $target_and_port $request_processing_time \
             $target_processing_time $response_processing_time $status $target_status $received_bytes $bytes_sent \
             \"$request\" \"$http_user_agent\" $ssl_cipher $ssl_protocol $target_group_arn \"$trace_id\" \
             \"$domain_name\" \"$chosen_cert_arn\" $matched_rule_priority $request_creation_time $rest",
        ),
    },
    Named {
        names: &[],
        shown: "nginx combined with $http_x_forwarded_for and $request_time",
        definition: Definition::Nginx(
            "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \
             \"$http_user_agent\" \"$http_x_forwarded_for\" $request_time",
        ),
    },
    Named {
        names: &[],
        shown: "nginx combined with $request_time",
        definition: Definition::Nginx(
            "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \
             \"$http_user_agent\" $request_time",
        ),
    },
    Named {
        names: &[],
        shown: "nginx combined with $http_x_forwarded_for",
        definition: Definition::Nginx(
            "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \
             \"$http_user_agent\" \"$http_x_forwarded_for\"",
        ),
    },
    Named { names: &["combined"], shown: "combined", definition: Definition::EitherServer(COMBINED) },
    Named { names: &["nginx"], shown: "nginx combined", definition: Definition::Nginx(NGINX_COMBINED) },
    Named { names: &["apache"], shown: "Apache combined", definition: Definition::Apache(COMBINED) },
    Named {
        names: &["common"],
        shown: "common",
        definition: Definition::EitherServer("%h %l %u %t \"%r\" %>s %b"),
    },
];

const COMBINED: &str = "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"";

const NGINX_COMBINED: &str = "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \
                              \"$http_referer\" \"$http_user_agent\"";

/// The length of a definition that is taken.
const DEFINITION_MAX: usize = 16 * 1024;

impl Format {
    /// Reads nginx's `log_format`, Apache's `LogFormat`, or the name of a format.
    ///
    /// # Errors
    /// A sentence about a name or a definition that is not known, or that does not tell the time and the request.
    pub fn parse(text: &str) -> Result<Self, Flaw> {
        let text = text.trim();
        let shown = shortened(text, 60);
        if text.len() > DEFINITION_MAX {
            return Err(Flaw::whole(format!(
                "expected a format of at most {DEFINITION_MAX} bytes, got `{shown}`"
            )));
        }
        let lower = text.to_ascii_lowercase();
        if let Some(named) = NAMED.iter().find(|named| named.names.contains(&&lower[..])) {
            return Self::of_definition(named.shown, &named.definition);
        }
        if nginx::is_definition(text) {
            let pattern = nginx::parse(text)?;
            return Self::of_pattern(format!("nginx log_format {shown}"), pattern);
        }
        if text.contains('%') {
            let pattern = apache::parse(text)?;
            return Self::of_pattern(format!("Apache LogFormat {shown}"), pattern);
        }
        let names: Vec<&str> = NAMED.iter().flat_map(|named| named.names).copied().collect();
        Err(Flaw::whole(format!(
            "expected a format by name ({}), nginx's log_format or Apache's LogFormat, got `{shown}`",
            names.join(", ")
        )))
    }

    fn of_definition(name: &str, definition: &Definition) -> Result<Self, Flaw> {
        match definition {
            Definition::Caddy => Ok(Self { name: name.to_owned(), layout: Layout::Caddy }),
            Definition::Nginx(text) => Self::of_pattern(name.to_owned(), nginx::parse(text)?),
            Definition::Apache(text) => Self::of_pattern(name.to_owned(), apache::parse(text)?),
            Definition::EitherServer(text) => {
                let mut format = Self::of_pattern(name.to_owned(), apache::parse(text)?)?;
                if let Layout::Text { clock, .. } = &mut format.layout {
                    clock.ends = true;
                }
                Ok(format)
            }
        }
    }

    fn of_pattern(name: String, mut pattern: Pattern) -> Result<Self, Flaw> {
        let mut clock = Clock::choose(&mut pattern).ok_or_else(|| {
            Flaw::whole(format!("expected a format with the time of a request, got `{name}`"))
        })?;
        if pattern.tells_creation() {
            clock.resolution = Resolution::Microsecond;
        }
        if !pattern.tells_the_request() {
            return Err(Flaw::whole(format!("expected a format with the request or its URI, got `{name}`")));
        }
        Ok(Self { name, layout: Layout::Text { pattern, clock } })
    }

    /// All formats that a log may be found to have, the more specific ones first.
    pub(super) fn detectable() -> Vec<Self> {
        NAMED
            .iter()
            .filter(|named| !matches!(named.names, ["nginx" | "apache"]))
            .filter_map(|named| Self::of_definition(named.shown, &named.definition).ok())
            .collect()
    }

    /// The name, or the start of the definition.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The instant of a request that the log's stamps are of.
    #[must_use]
    pub fn stamps(&self) -> Stamps {
        match &self.layout {
            Layout::Caddy => Stamps::EndWithDuration,
            Layout::Text { pattern, clock } => {
                if pattern.tells_creation() || !clock.ends {
                    Stamps::Start
                } else if pattern.tells_duration() {
                    Stamps::EndWithDuration
                } else {
                    Stamps::EndWithoutDuration
                }
            }
        }
    }

    /// The resolution of the log's stamps.
    #[must_use]
    pub fn resolution(&self) -> Resolution {
        match &self.layout {
            Layout::Caddy => Resolution::Microsecond,
            Layout::Text { clock, .. } => clock.resolution,
        }
    }

    /// True if it is not known which server wrote the log, so that stamps may be of the start after all.
    pub(super) fn is_of_either_server(&self) -> bool {
        matches!(&self.layout, Layout::Text { pattern, clock } if clock.ends && pattern.escape == Escape::Backslash)
            && matches!(&self.name[..], "combined" | "common")
    }
}

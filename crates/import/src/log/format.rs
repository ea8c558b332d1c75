//! The formats of access logs, from the line of a server's configuration that defines them, or by name.

use crate::error::Flaw;
use crate::report::shortened;

use super::apache;
use super::nginx;
use super::pattern::{Escape, Pattern};
use super::stamp::{Clock, Resolution, Stamps};
use super::w3c::Columns;

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
    /// Traefik's objects of JSON.
    Traefik,
    /// The columns that the log itself names.
    W3c(Columns),
    /// HAProxy's `option httplog`.
    Haproxy,
}

/// A format that has a name.
struct Named {
    names: &'static [&'static str],
    /// The name in reports.
    shown: &'static str,
    /// The definition, in the notation of the server that writes it.
    definition: Definition,
}

impl Named {
    /// False for a format that lines do not tell from another.
    fn is_detectable(&self) -> bool {
        !matches!(self.names, ["nginx" | "apache" | "iis" | "cloudfront"])
    }
}

enum Definition {
    Nginx(&'static str),
    Apache(&'static str),
    /// A log of one of several servers, which do not stamp the same instant.
    EitherServer(&'static str),
    Caddy,
    Traefik,
    /// The columns unless the log names them.
    W3c(&'static str),
    Haproxy,
}

/// The formats with a name, the more specific ones first: the first that fits a log is taken for its format.
const NAMED: &[Named] = &[
    Named { names: &["caddy"], shown: "caddy", definition: Definition::Caddy },
    Named { names: &["traefik-json"], shown: "traefik-json", definition: Definition::Traefik },
    Named { names: &["w3c"], shown: "w3c", definition: Definition::W3c("") },
    Named { names: &["iis"], shown: "iis", definition: Definition::W3c(IIS) },
    Named { names: &["cloudfront"], shown: "cloudfront", definition: Definition::W3c(CLOUDFRONT) },
    Named { names: &["haproxy"], shown: "haproxy", definition: Definition::Haproxy },
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
        names: &["ingress-nginx"],
        shown: "ingress-nginx",
        definition: Definition::Nginx(
            "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \
             \"$http_user_agent\" $request_length $request_time [$proxy_upstream_name] \
             [$proxy_alternative_upstream_name] $upstream_addr $upstream_response_length $upstream_response_time \
             $upstream_status $req_id",
        ),
    },
    Named {
        names: &["traefik"],
        shown: "traefik",
        definition: Definition::Nginx(
            "$remote_addr - $remote_user [$time_start] \"$request\" $status $body_bytes_sent \"$http_referer\" \
             \"$http_user_agent\" $count \"$router\" \"$server\" ${milliseconds}ms",
        ),
    },
    Named {
        names: &["vhost_combined"],
        shown: "vhost_combined",
        definition: Definition::Apache("%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\""),
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

/// The columns that IIS writes unless it is told otherwise.
const IIS: &str = "date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) \
                   sc-status sc-substatus sc-win32-status time-taken";

/// The columns of CloudFront's standard logs.
const CLOUDFRONT: &str = "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) \
                          cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header \
                          cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher \
                          x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port \
                          time-to-first-byte x-edge-detailed-result-type sc-content-type sc-content-len \
                          sc-range-start sc-range-end";

/// The length of a definition that is taken.
const DEFINITION_MAX: usize = 16 * 1024;

impl Format {
    /// Reads nginx's `log_format`, Apache's `LogFormat`, the line `#Fields:` of a W3C log, or the name of a format.
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
        if let Some(columns) = Columns::of_directive(text.as_bytes()) {
            return Ok(Self { name: "w3c".to_owned(), layout: Layout::W3c(columns?) });
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
        let of = |layout| Ok(Self { name: name.to_owned(), layout });
        match definition {
            Definition::Caddy => of(Layout::Caddy),
            Definition::Traefik => of(Layout::Traefik),
            Definition::Haproxy => of(Layout::Haproxy),
            Definition::W3c("") => of(Layout::W3c(Columns::default())),
            Definition::W3c(names) => of(Layout::W3c(Columns::parse(names)?)),
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

    /// The names of formats that a log may be found to have.
    pub(super) fn detectable_names() -> String {
        let names =
            NAMED.iter().filter(|named| named.is_detectable()).filter_map(|named| named.names.first());
        names.copied().collect::<Vec<_>>().join(", ")
    }

    /// All formats that a log may be found to have, the more specific ones first.
    pub(super) fn detectable() -> Vec<Self> {
        NAMED
            .iter()
            .filter(|named| named.is_detectable())
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
            Layout::Traefik | Layout::Haproxy => Stamps::Start,
            Layout::W3c(columns) if columns.tell_duration() => Stamps::EndWithDuration,
            Layout::W3c(_) => Stamps::EndWithoutDuration,
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
            Layout::Traefik => Resolution::Nanosecond,
            Layout::Haproxy => Resolution::Millisecond,
            Layout::W3c(_) => Resolution::Second,
            Layout::Text { clock, .. } => clock.resolution,
        }
    }

    /// True if it is not known which server wrote the log, so that stamps may be of the start after all.
    pub(super) fn is_of_either_server(&self) -> bool {
        matches!(&self.layout, Layout::Text { pattern, clock } if clock.ends && pattern.escape == Escape::Backslash)
            && matches!(&self.name[..], "combined" | "common")
    }
}

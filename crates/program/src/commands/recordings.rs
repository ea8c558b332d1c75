//! Options about recordings, which `import` and `replay` share.

use std::time::Duration;

use httperf_command_line::grammar::{ParseStop, Value};
use httperf_import::clients::By;
use httperf_import::log::Format;

/// Details of `--format`.
pub(crate) const FORMAT: &[&str] = &[
    "Takes nginx's log_format or Apache's LogFormat as the server's configuration has it, in quotes for the shell, or a \
     name: combined, common, nginx or apache (combined, from this server), vhost_combined, ingress-nginx, traefik, \
     traefik-json, caddy (its JSON), haproxy (its httplog), w3c, iis or cloudfront (W3C, with their usual columns), alb (of \
     AWS). Default: told from the first lines, if it is one of these. The line `#Fields:` of a W3C log will do, too.",
    "nginx, Caddy, IIS and load balancers of AWS stamp the end of a request: its duration, if the log has it, tells the \
     start. Apache, Traefik and HAProxy stamp the start. Stamps of whole seconds are spread evenly within the second.",
];

/// Details of `--client-by`.
pub(crate) const CLIENT_BY: &[&str] = &[
    "The user is a cookie that the log has, by $cookie_NAME or %{NAME}C. `request` takes each request for one of a client \
     of its own. Default: address+agent+user.",
];

/// Reads the value of `--format`: the format, and its text.
pub(crate) fn format(value: Value<'_>) -> Result<(Format, String), ParseStop> {
    let text = std::str::from_utf8(value.bytes()).map_err(|_| value.expected("a format in UTF-8"))?;
    let format = Format::parse(text).map_err(|flaw| value.rejected(flaw))?;
    Ok((format, text.to_owned()))
}

/// Reads the value of `--client-by`: the parts, and their text.
pub(crate) fn client_by(value: Value<'_>) -> Result<(By, String), ParseStop> {
    let text = String::from_utf8_lossy(value.bytes()).into_owned();
    let by = text.parse().map_err(|reason| value.rejected(reason))?;
    Ok((by, text))
}

/// Reads the value of `--idle`.
pub(crate) fn idle(value: Value<'_>) -> Result<Duration, ParseStop> {
    let seconds = value.seconds().filter(|seconds| *seconds > 0.0);
    let idle = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    idle.ok_or_else(|| value.expected("a number of seconds above 0"))
}

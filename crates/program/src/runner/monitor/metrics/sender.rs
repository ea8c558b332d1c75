//! Sends metrics by HTTP, on a thread of its own. What the receiver does not take in time is dropped and counted.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::time::Duration;

use anyhow::Context;
use httperf_command_line::terminal::messages::Program;
use httperf_metrics::otlp;
use httperf_plan::secrets;
use percent_encoding::percent_decode_str;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};

/// The most messages that wait for the receiver.
const WAITING_MAX: usize = 60;

/// The time for one message.
const PATIENCE: Duration = Duration::from_secs(5);

/// The time for what still waits when the run is over.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// The variable with further header fields for OTLP: `name=value,name=value`, percent-encoded.
///
/// <https://opentelemetry.io/docs/specs/otel/protocol/exporter/>
const OTLP_HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// The variable with the token for InfluxDB, as its own tools take it.
const INFLUX_TOKEN: &str = "INFLUX_TOKEN";

/// Sends messages to a receiver.
pub(super) struct Sender {
    program: Program,
    option: &'static str,
    /// The URL, as it may be shown.
    url: String,
    /// `None` once there are no more.
    channel: Option<SyncSender<Vec<u8>>>,
    /// Tells at the end how many messages failed.
    failed: Receiver<u64>,
    sent: u64,
    dropped: u64,
}

impl Sender {
    pub(super) fn to_otlp(url: &str, program: Program) -> anyhow::Result<Self> {
        let mut fields = vec![("content-type".to_owned(), otlp::MEDIA_TYPE.to_owned())];
        fields.extend(std::env::var(OTLP_HEADERS).map(|text| header_fields(&text)).unwrap_or_default());
        Self::start("--otlp", url, fields, program)
    }

    pub(super) fn to_influx(url: &str, program: Program) -> anyhow::Result<Self> {
        let mut fields = vec![("content-type".to_owned(), "text/plain; charset=utf-8".to_owned())];
        let token = std::env::var(INFLUX_TOKEN).ok().filter(|token| !token.is_empty());
        fields.extend(token.map(|token| ("authorization".to_owned(), format!("Token {token}"))));
        Self::start("--influx", url, fields, program)
    }

    fn start(
        option: &'static str,
        url: &str,
        fields: Vec<(String, String)>,
        program: Program,
    ) -> anyhow::Result<Self> {
        let (channel_in, messages) = sync_channel::<Vec<u8>>(WAITING_MAX);
        let (tell, failed) = channel();
        let shown = secrets::value(option.trim_start_matches('-'), url);
        let (to, shown_to, says) = (url.to_owned(), shown.clone(), program.clone());
        let mut config =
            Agent::config_builder().timeout_global(Some(PATIENCE)).http_status_as_error(true).proxy(None);
        if url.starts_with("https:") {
            config = config.tls_config(tls(option)?);
        }
        let agent: Agent = config.build().into();
        let run = move || {
            let mut failures = 0;
            for message in messages {
                let mut request = agent.post(&to);
                for (name, value) in &fields {
                    request = request.header(name, value);
                }
                if let Err(error) = request.send(&message[..]) {
                    failures += 1;
                    if failures == 1 {
                        says.warn(format_args!("{option}: {shown_to} has not taken metrics: {error}"));
                    }
                }
            }
            // Nobody waits any more if this took too long.
            let _told = tell.send(failures);
        };
        std::thread::Builder::new()
            .name("metrics sender".into())
            .spawn(run)
            .with_context(|| format!("{option}: cannot start a thread"))?;
        Ok(Self { program, option, url: shown, channel: Some(channel_in), failed, sent: 0, dropped: 0 })
    }

    /// Sends a message, unless too many wait. Never waits.
    pub(super) fn send(&mut self, message: Vec<u8>) {
        self.sent += 1;
        let is_taken = self.channel.as_ref().is_some_and(|channel| channel.try_send(message).is_ok());
        self.dropped += u64::from(!is_taken);
    }

    /// Waits a little for what is still on its way, and says what was not delivered.
    pub(super) fn finish(mut self) {
        drop(self.channel.take());
        let Self { program, option, url, sent, dropped, .. } = &self;
        match self.failed.recv_timeout(LAST_PATIENCE) {
            Ok(0) if *dropped == 0 => {}
            Ok(failed) => {
                let lost = failed + dropped;
                let were = if lost == 1 { "was" } else { "were" };
                program
                    .warn(format_args!("{option}: {lost} of {sent} messages {were} not delivered to {url}"));
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => program.warn(format_args!(
                "{option}: {url} did not take the last messages within {} s",
                LAST_PATIENCE.as_secs()
            )),
        }
    }
}

/// Trust in the receiver: that of other programs on this machine in servers.
fn tls(option: &str) -> anyhow::Result<TlsConfig> {
    let found = rustls_native_certs::load_native_certs();
    let roots: Vec<Certificate<'static>> =
        found.certs.iter().map(|root| Certificate::from_der(root).to_owned()).collect();
    anyhow::ensure!(
        !roots.is_empty(),
        "{option}: found no certificates of authorities on this machine, which https:// needs\nhint: install \
         ca-certificates, or let SSL_CERT_FILE name a file with them"
    );
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .root_certs(RootCerts::new_with_certs(&roots))
        .build())
}

/// Header fields of a text like `name=value,name=value`. What is none is passed over.
fn header_fields(text: &str) -> Vec<(String, String)> {
    let fields = text.split(',').filter_map(|field| field.split_once('='));
    let decoded = |text: &str| percent_decode_str(text.trim()).decode_utf8_lossy().into_owned();
    fields.map(|(name, value)| (decoded(name), decoded(value))).filter(|(name, _)| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_fields_come_from_a_variable() {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let found = header_fields("api-key=a%20b, x = y,rubbish,=z");
        assert_eq!(found, [field("api-key", "a b"), field("x", "y")]);
        assert!(header_fields("").is_empty());
    }
}

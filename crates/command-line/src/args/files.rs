//! Files that options name: those that a run reads, and those that it writes.

use std::ffi::OsString;

use super::{Args, FormValue, GrpcData, STDOUT, SessionKind};
use crate::outputs::{NamedFile, ReadFile};

impl Args {
    /// The files that options name to be read.
    pub fn read_files(&self) -> Vec<ReadFile> {
        let session = self.session.as_ref().and_then(|session| match &session.kind {
            SessionKind::File(file) => Some(file),
            SessionKind::Calls(_) | SessionKind::Pages(_) => None,
        });
        let data = match &self.grpc.data {
            Some(GrpcData::File(file)) => Some(file),
            Some(GrpcData::Text(_)) | None => None,
        };
        let single = [
            ("--servers", self.servers.as_ref()),
            ("--wlog", self.wlog.as_ref().map(|log| &log.file)),
            ("--wsesslog", session),
            ("--add-header-file", self.add_header_file.as_ref()),
            ("--body-file", self.material.body_file.as_ref()),
            ("--targets", self.material.targets.as_ref()),
            ("--prompts", self.material.prompts.file.as_ref()),
            ("--ssl-certificate", self.tls.certificate.as_ref()),
            ("--ssl-key", self.tls.key.as_ref()),
            ("--ssl-ca-file", self.tls.ca_file.as_ref()),
            ("--ssl-ca-path", self.tls.ca_path.as_ref()),
            ("--grpc-data", data),
            ("--grpc-raw", self.grpc.raw.as_ref()),
        ];
        let fields = self.material.form.iter().filter_map(|field| match &field.value {
            FormValue::File(file) => Some(("--form", file)),
            FormValue::Text(_) => None,
        });
        let protos = self.grpc.protos.iter().map(|file| ("--proto", file));
        let sets = self.grpc.protosets.iter().map(|file| ("--protoset", file));
        let single = single.into_iter().filter_map(|(option, file)| Some((option, file?)));
        let named = single.chain(fields).chain(protos).chain(sets);
        named.map(|(option, file)| ReadFile { option: Some(option), name: file.clone() }).collect()
    }

    /// The files that options name to be written. Standard output is none of them.
    pub fn written_files(&self) -> Vec<NamedFile> {
        let results = &self.results;
        let options = [
            ("--output", &results.output),
            ("--html", &results.html),
            ("--csv", &results.csv),
            ("--hgrm", &results.hgrm),
            ("--svg", &results.svg),
            ("--png", &results.png),
            ("--junit", &results.junit),
            ("--steps", &results.steps),
            ("--calls", &results.calls),
            ("--interval-log", &self.interval_log),
            ("--tls-keylog", &self.tls.key_log),
            ("--qlog", &self.quic.qlog),
        ];
        let options = options.into_iter().filter_map(|(option, name)| Some((option, name.clone()?)));
        let lines = self.metrics.influx_file().map(|name| ("--influx", OsString::from(name)));
        options.chain(lines).filter(|(_, name)| name != STDOUT).collect()
    }
}

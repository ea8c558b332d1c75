//! Manifests of Kubernetes: an Indexed Job whose pods are the ranks, a Service by which they find rank 0, and Secrets.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use httperf_command_line::grammar::ParseStop;
use httperf_fleet::rank::SIZE_VARIABLE;
use serde_json::{Value, json};

use super::options::{FleetArgs, Form};
use super::{Job, Printed, yaml};
use crate::runner::fleet::{PLACE_VARIABLE, SECRET_VARIABLE};

/// The port at which the ranks meet. In a pod of its own, every port is free.
const PORT: u16 = 7000;

/// The folder in which ranks run; they may write to it.
const FOLDER: &str = "/work";

/// The key of the secret in its Secret.
const KEY: &str = "secret";

/// Label by which Kubernetes marks the pods of a job.
const JOB_LABEL: &str = "batch.kubernetes.io/job-name";

/// Time after which Kubernetes removes a finished job with its logs: a week.
const KEPT_SECONDS: i32 = 7 * 86_400;

/// Time for the report when a pod is told to end.
const GRACE_SECONDS: i64 = 60;

/// What a Secret holds at most, and with it the files of a run.
const FILES_MAX: usize = 1024 * 1024;

/// Longest name of a host.
const LABEL_MAX: usize = 63;

/// The manifests.
pub(super) fn manifests(job: &Job<'_>) -> anyhow::Result<Printed> {
    let (files, left_to_image) = Files::of(job)?;
    // In the order in which they are to be created.
    let mut objects = Vec::new();
    if job.args.secret_name.is_none() {
        objects.push(secret(job.args)?);
    }
    if !files.contents.is_empty() {
        objects.push(files.secret(job.args));
    }
    objects.push(service(job.args));
    objects.push(indexed_job(job, &files)?);
    objects.iter_mut().for_each(drop_nulls);
    let text = match job.args.form {
        None | Some(Form::Yaml) => objects.iter().map(yaml::document).collect::<Vec<_>>().join("---\n"),
        Some(Form::Json) => {
            let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
            format!("{list:#}\n")
        }
    };
    Ok(Printed { text: text.into_bytes(), notes: notes(job, &left_to_image), next: next(job.args) })
}

fn notes(job: &Job<'_>, left_to_image: &[PathBuf]) -> Vec<String> {
    let mut notes = Vec::new();
    for file in left_to_image {
        notes.push(format!("{} is not here: expected to be in the image, and not checked", file.display()));
    }
    for (option, file) in &job.line.written {
        let file = file.to_string_lossy();
        notes.push(format!(
            "{option}: {file} is lost with the pod; `--output -` prints the result, which `httperf report` turns into any \
             other form"
        ));
    }
    notes
}

/// The commands that start the job, and show its report.
fn next(args: &FleetArgs) -> String {
    let namespace = args.namespace.as_ref().map_or(String::new(), |name| format!(" -n {name}"));
    let name = args.name();
    format!(
        "kubectl create -f FILE && kubectl{namespace} wait --for=jsonpath='{{.status.active}}' job/{name} && \
         kubectl{namespace} logs -f -l {JOB_LABEL}={name},batch.kubernetes.io/job-completion-index=0 --tail=-1"
    )
}

/// Refuses a name that does not do for the job, its Service and its hosts.
pub(super) fn check_name(name: &str, ranks: u32) -> Result<(), ParseStop> {
    // Rank 12 of job `shop` is the host `shop-12`.
    let most = LABEL_MAX - format!("-{}", ranks - 1).len();
    if is_label(name) && name.starts_with(|first: char| first.is_ascii_lowercase()) && name.len() <= most {
        return Ok(());
    }
    Err(ParseStop::rejected(format!(
        "--name: expected at most {most} lower-case letters, digits and `-`, a letter first, got `{name}`"
    )))
}

/// Returns true for a label of a host name (RFC 1123).
pub(super) fn is_label(text: &str) -> bool {
    let is_fit = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    !text.is_empty()
        && text.len() <= LABEL_MAX
        && text.chars().all(is_fit)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Returns true for the name of an object: labels joined by dots.
pub(super) fn is_object_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

/// Returns true for the value of a label of Kubernetes.
pub(super) fn is_label_value(text: &str) -> bool {
    let is_end = |letter: Option<char>| letter.is_none_or(|letter| letter.is_ascii_alphanumeric());
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    text.len() <= LABEL_MAX
        && text.chars().all(is_fit)
        && is_end(text.chars().next())
        && is_end(text.chars().next_back())
}

/// Returns true for the key of a label of Kubernetes: a name, perhaps with a domain in front.
pub(super) fn is_label_key(text: &str) -> bool {
    let (domain, name) = text.split_once('/').map_or((None, text), |(domain, name)| (Some(domain), name));
    domain.is_none_or(is_object_name) && !name.is_empty() && is_label_value(name)
}

/// Returns true for an amount of memory.
pub(super) fn is_size(text: &str) -> bool {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].parse::<u64>().is_ok_and(|number| number > 0);
    number && ["", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"].contains(&&text[end..])
}

/// Removes what is left out, which is null until then.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The metadata of an object.
fn named(args: &FleetArgs, name: &str) -> Value {
    json!({ "labels": labels(args), "name": name, "namespace": args.namespace })
}

fn labels(args: &FleetArgs) -> Value {
    json!({ "app.kubernetes.io/instance": args.name(), "app.kubernetes.io/name": "httperf" })
}

/// The labels by which the pods of the job are found.
fn pods(args: &FleetArgs) -> Value {
    json!({ JOB_LABEL: args.name() })
}

fn secret(args: &FleetArgs) -> anyhow::Result<Value> {
    let value = match std::env::var(SECRET_VARIABLE) {
        Ok(value) if !value.is_empty() => value,
        _ => random()?,
    };
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "immutable": true,
        "metadata": named(args, args.name()),
        "stringData": { KEY: value },
    }))
}

/// Letters that nobody can guess.
fn random() -> anyhow::Result<String> {
    let mut bytes = [0; 32];
    // The system gives that many at once.
    let count = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .context("cannot draw a random number")?;
    anyhow::ensure!(count == bytes.len(), "cannot draw {} random bytes at once, got {count}", bytes.len());
    Ok(STANDARD.encode(bytes))
}

/// The Service without an address of its own that makes `NAME-0.NAME` the host of rank 0.
fn service(args: &FleetArgs) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": named(args, args.name()),
        "spec": {
            "clusterIP": "None",
            "ports": [{ "name": "meet", "port": PORT, "protocol": "TCP" }],
            // Rank 0 has to be found before anything is ready.
            "publishNotReadyAddresses": true,
            "selector": pods(args),
        },
    })
}

fn indexed_job(job: &Job<'_>, files: &Files) -> anyhow::Result<Value> {
    let args = job.args;
    let ranks = i32::try_from(job.ranks).context("--ranks: expected fewer")?;
    Ok(json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": named(args, args.name()),
        "spec": {
            "activeDeadlineSeconds": args.time.map(|time| i64::try_from(time.as_secs()).unwrap_or(i64::MAX)),
            // A rank that is lost cannot come again, as the others have begun.
            "backoffLimitPerIndex": 0,
            "completionMode": "Indexed",
            "completions": ranks,
            // All at once: they wait for each other.
            "parallelism": ranks,
            "podReplacementPolicy": "Failed",
            "template": { "metadata": { "labels": labels(args) }, "spec": pod(job, files)? },
            "ttlSecondsAfterFinished": KEPT_SECONDS,
        },
    }))
}

fn pod(job: &Job<'_>, files: &Files) -> anyhow::Result<Value> {
    let args = job.args;
    let sysctls = (!args.leaves_sysctls)
        .then(|| json!([{ "name": "net.ipv4.ip_local_port_range", "value": "1024 65535" }]));
    let selector: BTreeMap<&String, &String> =
        args.node_selector.iter().map(|(key, value)| (key, value)).collect();
    let mut volumes = vec![json!({ "emptyDir": {}, "name": "work" })];
    if !files.contents.is_empty() {
        volumes.push(json!({ "name": "files", "secret": { "secretName": Files::name(args) } }));
    }
    Ok(json!({
        "affinity": { "podAntiAffinity": apart(args) },
        "automountServiceAccountToken": false,
        "containers": [container(job, files)?],
        "enableServiceLinks": false,
        "nodeSelector": (!selector.is_empty()).then_some(selector),
        "restartPolicy": "Never",
        "securityContext": {
            "runAsNonRoot": true,
            "seccompProfile": { "type": "RuntimeDefault" },
            "sysctls": sysctls,
        },
        "subdomain": args.name(),
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "volumes": volumes,
    }))
}

fn container(job: &Job<'_>, files: &Files) -> anyhow::Result<Value> {
    let args = job.args;
    let name = args.name();
    // With limits that equal the requests, ranks are the last that a node in need stops or slows down.
    let resources = json!({ "cpu": job.cpus.to_string(), "memory": args.memory.as_deref().unwrap_or("1Gi") });
    let secret = json!({ "key": KEY, "name": args.secret_name.as_deref().unwrap_or(name) });
    let mut mounts = vec![json!({ "mountPath": FOLDER, "name": "work" })];
    mounts.extend(files.contents.iter().map(
        |file| json!({ "mountPath": file.place, "name": "files", "readOnly": true, "subPath": file.key }),
    ));
    let words = job.line.words.iter().map(|word| {
        let word = word.to_str().ok_or_else(|| {
            anyhow!("expected words in UTF-8, as manifests are, got `{}`", word.to_string_lossy())
        })?;
        // `$(NAME)` would be replaced, `$$` stands for `$`.
        Ok(word.replace('$', "$$"))
    });
    Ok(json!({
        "args": words.collect::<anyhow::Result<Vec<_>>>()?,
        "command": ["httperf"],
        "env": [
            { "name": SIZE_VARIABLE, "value": job.ranks.to_string() },
            { "name": PLACE_VARIABLE, "value": format!("{name}-0.{name}:{PORT}") },
            { "name": SECRET_VARIABLE, "valueFrom": { "secretKeyRef": secret } },
        ],
        "image": args.image,
        "name": "httperf",
        "resources": { "limits": resources, "requests": resources },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "readOnlyRootFilesystem": true,
        },
        "volumeMounts": mounts,
        "workingDir": FOLDER,
    }))
}

/// Keeps the ranks on different nodes, where they do not compete.
fn apart(args: &FleetArgs) -> Value {
    let term = json!({
        "labelSelector": { "matchLabels": pods(args) },
        "topologyKey": "kubernetes.io/hostname",
    });
    if args.shares_nodes {
        json!({ "preferredDuringSchedulingIgnoredDuringExecution": [{ "podAffinityTerm": term, "weight": 100 }] })
    } else {
        json!({ "requiredDuringSchedulingIgnoredDuringExecution": [term] })
    }
}

/// The files that the command line reads, which pods find at the same paths. They are kept in a Secret, as there may be a
/// key or a password among them.
struct Files {
    contents: Vec<File>,
}

struct File {
    /// Its name in the Secret.
    key: String,
    /// Its path in the pods.
    place: String,
    contents: Vec<u8>,
}

impl Files {
    /// The files of a command line, and those that are not here, so that the image has to have them.
    fn of(job: &Job<'_>) -> anyhow::Result<(Self, Vec<PathBuf>)> {
        let mut contents: Vec<File> = Vec::new();
        let mut left_to_image = Vec::new();
        for path in &job.line.files {
            if job.line.missing.contains(path) && path.is_absolute() {
                left_to_image.push(path.clone());
                continue;
            }
            let place = place(path)?;
            if contents.iter().any(|file| file.place == place) {
                continue;
            }
            let read = fs::read(path).with_context(|| {
                format!("cannot read `{}`, which is to be part of the manifests", path.display())
            })?;
            contents.push(File { key: format!("file-{}", contents.len()), place, contents: read });
        }
        let size: usize = contents.iter().map(|file| file.contents.len()).sum();
        if size > FILES_MAX {
            let largest = contents.iter().max_by_key(|file| file.contents.len()).expect("there are some");
            bail!(
                "expected files of at most {FILES_MAX} bytes in all, got {size} with `{}`\n\
                 hint: put large files into an image of your own, made from that of --image, and name them by a path that \
                 only the image has",
                largest.place.trim_start_matches(FOLDER).trim_start_matches('/')
            );
        }
        Ok((Self { contents }, left_to_image))
    }

    fn name(args: &FleetArgs) -> String {
        format!("{}-files", args.name())
    }

    fn secret(&self, args: &FleetArgs) -> Value {
        let data: BTreeMap<_, _> =
            self.contents.iter().map(|file| (&file.key, STANDARD.encode(&file.contents))).collect();
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "data": data,
            "immutable": true,
            "metadata": named(args, &Self::name(args)),
        })
    }
}

/// The path at which a pod finds a file.
fn place(path: &Path) -> anyhow::Result<String> {
    let unfit =
        |reason: &str| anyhow!("expected {reason}, so that pods find it there too, got `{}`", path.display());
    let mut place = if path.is_absolute() { String::new() } else { FOLDER.to_owned() };
    for component in path.components() {
        match component {
            Component::Normal(name) => {
                let name = name.to_str().filter(|name| !name.contains(':'));
                place.push('/');
                place.push_str(name.ok_or_else(|| unfit("the name of a file in UTF-8 without `:`"))?);
            }
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => {
                return Err(unfit("a file in this folder or below it, or an absolute path"));
            }
        }
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leaves_room_for_the_number_of_the_last_rank() {
        let name = "n".repeat(61);
        assert!(check_name(&name, 10).is_ok());
        assert!(check_name(&name, 11).is_err());
        for wrong in ["", "1a", "-a", "a-", "A", "a.b", "a_b", "ä"] {
            assert!(check_name(wrong, 2).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_and_labels_have_the_form_that_kubernetes_takes() {
        for (text, is_fit) in [
            ("1Gi", true),
            ("512M", true),
            ("1", true),
            ("0", false),
            ("", false),
            ("1GB", false),
            ("-1", false),
            ("Gi", false),
        ] {
            assert_eq!(is_size(text), is_fit, "{text}");
        }
        for (text, is_fit) in [
            ("pool", true),
            ("example.com/pool", true),
            ("a/b/c", false),
            ("", false),
            ("-a", false),
            ("A.b/c", false),
        ] {
            assert_eq!(is_label_key(text), is_fit, "{text}");
        }
        assert!(
            is_label_value("")
                && is_label_value("a_B.c-1")
                && !is_label_value("a b")
                && !is_label_value("a-")
        );
    }

    #[test]
    fn files_are_found_at_the_same_paths() {
        // Relative ones below the folder of the pods.
        for (path, expected) in [
            ("shop.toml", Some("/work/shop.toml")),
            ("./a/b.csv", Some("/work/a/b.csv")),
            ("/etc/x.pem", Some("/etc/x.pem")),
            ("../x", None),
            ("a:b", None),
        ] {
            assert_eq!(place(Path::new(path)).ok().as_deref(), expected, "{path}");
        }
    }
}

//! Manifests of Kubernetes: an Indexed Job whose pods are the ranks, a Service by which they find rank 0, and Secrets.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use httperf_fleet::rank::SIZE_VARIABLE;
use k8s_openapi::ByteString;
use k8s_openapi::api::batch::v1::{Job as KubernetesJob, JobSpec};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, EmptyDirVolumeSource, EnvVar, EnvVarSource, PodAffinityTerm,
    PodAntiAffinity, PodSecurityContext, PodSpec, PodTemplateSpec, ResourceRequirements, SeccompProfile,
    Secret, SecretKeySelector, SecretVolumeSource, SecurityContext, Service, ServicePort, ServiceSpec,
    Sysctl, Volume, VolumeMount, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use super::options::{FleetArgs, Form};
use super::{Job, Printed, yaml};
use crate::command_line::grammar::ParseStop;
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
        objects.push(serde_json::to_value(secret(job.args)?));
    }
    if !files.contents.is_empty() {
        objects.push(serde_json::to_value(files.secret(job.args)));
    }
    objects.push(serde_json::to_value(service(job.args)));
    objects.push(serde_json::to_value(indexed_job(job, &files)?));
    let objects = objects.into_iter().collect::<Result<Vec<_>, _>>().context("cannot write manifests")?;
    let text = match job.args.form {
        None | Some(Form::Yaml) => objects.iter().map(yaml::document).collect::<Vec<_>>().join("---\n"),
        Some(Form::Json) => {
            let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": objects });
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

fn named(args: &FleetArgs, name: String) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: args.namespace.clone(),
        labels: Some(labels(args)),
        ..ObjectMeta::default()
    }
}

fn labels(args: &FleetArgs) -> BTreeMap<String, String> {
    let labels = [("app.kubernetes.io/name", "httperf"), ("app.kubernetes.io/instance", args.name())];
    labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// The labels by which the pods of the job are found.
fn pods(args: &FleetArgs) -> BTreeMap<String, String> {
    [(JOB_LABEL.to_owned(), args.name().to_owned())].into()
}

fn secret(args: &FleetArgs) -> anyhow::Result<Secret> {
    let value = match std::env::var(SECRET_VARIABLE) {
        Ok(value) if !value.is_empty() => value,
        _ => random()?,
    };
    Ok(Secret {
        metadata: named(args, args.name().to_owned()),
        string_data: Some([(KEY.to_owned(), value)].into()),
        immutable: Some(true),
        ..Secret::default()
    })
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
fn service(args: &FleetArgs) -> Service {
    Service {
        metadata: named(args, args.name().to_owned()),
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            // Rank 0 has to be found before anything is ready.
            publish_not_ready_addresses: Some(true),
            selector: Some(pods(args)),
            ports: Some(vec![ServicePort {
                name: Some("meet".to_owned()),
                port: PORT.into(),
                protocol: Some("TCP".to_owned()),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

fn indexed_job(job: &Job<'_>, files: &Files) -> anyhow::Result<KubernetesJob> {
    let args = job.args;
    let ranks = i32::try_from(job.ranks).context("--ranks: expected fewer")?;
    let time = args.time.map(|time| i64::try_from(time.as_secs()).unwrap_or(i64::MAX));
    Ok(KubernetesJob {
        metadata: named(args, args.name().to_owned()),
        spec: Some(JobSpec {
            completion_mode: Some("Indexed".to_owned()),
            completions: Some(ranks),
            // All at once: they wait for each other.
            parallelism: Some(ranks),
            // A rank that is lost cannot come again, as the others have begun.
            backoff_limit_per_index: Some(0),
            pod_replacement_policy: Some("Failed".to_owned()),
            active_deadline_seconds: time,
            ttl_seconds_after_finished: Some(KEPT_SECONDS),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels(args)), ..ObjectMeta::default() }),
                spec: Some(pod(job, files)?),
            },
            ..JobSpec::default()
        }),
        ..KubernetesJob::default()
    })
}

fn pod(job: &Job<'_>, files: &Files) -> anyhow::Result<PodSpec> {
    let args = job.args;
    let sysctls = (!args.leaves_sysctls).then(|| {
        vec![Sysctl { name: "net.ipv4.ip_local_port_range".to_owned(), value: "1024 65535".to_owned() }]
    });
    let selector: BTreeMap<String, String> = args.node_selector.iter().cloned().collect();
    let mut volumes = vec![Volume {
        name: "work".to_owned(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Volume::default()
    }];
    volumes.extend((!files.contents.is_empty()).then(|| Volume {
        name: "files".to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(Files::name(args)),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    }));
    Ok(PodSpec {
        affinity: Some(apart(args)),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        containers: vec![container(job, files)?],
        node_selector: (!selector.is_empty()).then_some(selector),
        restart_policy: Some("Never".to_owned()),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                ..SeccompProfile::default()
            }),
            sysctls,
            ..PodSecurityContext::default()
        }),
        subdomain: Some(args.name().to_owned()),
        termination_grace_period_seconds: Some(GRACE_SECONDS),
        volumes: Some(volumes),
        ..PodSpec::default()
    })
}

fn container(job: &Job<'_>, files: &Files) -> anyhow::Result<Container> {
    let args = job.args;
    // With limits that equal the requests, ranks are the last that a node in need stops or slows down.
    let resources: BTreeMap<String, Quantity> = [
        ("cpu".to_owned(), Quantity(job.cpus.to_string())),
        ("memory".to_owned(), Quantity(args.memory.clone().unwrap_or_else(|| "1Gi".to_owned()))),
    ]
    .into();
    let plain =
        |name: &str, value: String| EnvVar { name: name.to_owned(), value: Some(value), value_from: None };
    let secret = SecretKeySelector {
        name: args.secret_name.clone().unwrap_or_else(|| args.name().to_owned()),
        key: KEY.to_owned(),
        optional: None,
    };
    let from_secret = EnvVar {
        name: SECRET_VARIABLE.to_owned(),
        value: None,
        value_from: Some(EnvVarSource { secret_key_ref: Some(secret), ..EnvVarSource::default() }),
    };
    let mut mounts = vec![VolumeMount {
        name: "work".to_owned(),
        mount_path: FOLDER.to_owned(),
        ..VolumeMount::default()
    }];
    mounts.extend(files.contents.iter().map(|file| VolumeMount {
        name: "files".to_owned(),
        mount_path: file.place.clone(),
        sub_path: Some(file.key.clone()),
        read_only: Some(true),
        ..VolumeMount::default()
    }));
    let words = job.line.words.iter().map(|word| {
        let word = word.to_str().ok_or_else(|| {
            anyhow!("expected words in UTF-8, as manifests are, got `{}`", word.to_string_lossy())
        })?;
        // `$(NAME)` would be replaced, `$$` stands for `$`.
        Ok(word.replace('$', "$$"))
    });
    Ok(Container {
        name: "httperf".to_owned(),
        image: args.image.clone(),
        command: Some(vec!["httperf".to_owned()]),
        args: Some(words.collect::<anyhow::Result<_>>()?),
        working_dir: Some(FOLDER.to_owned()),
        env: Some(vec![
            plain(SIZE_VARIABLE, job.ranks.to_string()),
            plain(PLACE_VARIABLE, format!("{name}-0.{name}:{PORT}", name = args.name())),
            from_secret,
        ]),
        resources: Some(ResourceRequirements {
            limits: Some(resources.clone()),
            requests: Some(resources),
            ..ResourceRequirements::default()
        }),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
            ..SecurityContext::default()
        }),
        volume_mounts: Some(mounts),
        ..Container::default()
    })
}

/// Keeps the ranks on different nodes, where they do not compete.
fn apart(args: &FleetArgs) -> Affinity {
    let term = PodAffinityTerm {
        label_selector: Some(LabelSelector { match_labels: Some(pods(args)), match_expressions: None }),
        topology_key: "kubernetes.io/hostname".to_owned(),
        ..PodAffinityTerm::default()
    };
    let rule = match args.shares_nodes {
        false => PodAntiAffinity {
            required_during_scheduling_ignored_during_execution: Some(vec![term]),
            ..PodAntiAffinity::default()
        },
        true => PodAntiAffinity {
            preferred_during_scheduling_ignored_during_execution: Some(vec![WeightedPodAffinityTerm {
                weight: 100,
                pod_affinity_term: term,
            }]),
            ..PodAntiAffinity::default()
        },
    };
    Affinity { pod_anti_affinity: Some(rule), ..Affinity::default() }
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

    fn secret(&self, args: &FleetArgs) -> Secret {
        let entries = self.contents.iter().map(|file| (file.key.clone(), ByteString(file.contents.clone())));
        Secret {
            metadata: named(args, Self::name(args)),
            data: Some(entries.collect()),
            immutable: Some(true),
            ..Secret::default()
        }
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

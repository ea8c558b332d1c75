//! The command line of `httperf fleet`, without what is behind `--`.

use std::ffi::OsString;
use std::time::Duration;

use httperf_command_line::args::{Threads, os_string};
use httperf_command_line::grammar::{Command, Group, Opt, ParseStop, Value};
use httperf_command_line::values::{positive, seconds};

use super::line::Line;
use super::{SPARE_CPUS, kubernetes, slurm};

/// The command line of `httperf fleet`.
pub const COMMAND: Command<FleetArgs> = Command {
    name: "fleet",
    summary: "Prints a job script of Slurm or manifests of Kubernetes that start a run on several machines.",
    words: "slurm|kubernetes -- [run|replay|sweep|capacity|ab] [ARGUMENT]...",
    groups: &[
        Group { title: "Fleet", options: FLEET },
        Group { title: "Slurm", options: SLURM },
        Group { title: "Kubernetes", options: KUBERNETES },
        Group { title: "General", options: &[Opt::help()] },
    ],
    also: None,
    word: |args, word| {
        args.words.push(os_string(word));
        Ok(())
    },
};

const FLEET: &[Opt<FleetArgs>] = &[
    Opt::with_value("ranks", "N", "starts N processes that share the run")
        .common()
        .details(&[
            "The words behind `--` are the command line of each: that of `httperf` itself, or of `httperf run`, `replay`, \
             `sweep`, `capacity` or `ab`. It is checked at once, as far as that is possible here; --fleet auto is put into it. \
             docs/guide/fleet.md describes fleets. mpirun needs no script: mpirun -n 8 httperf --fleet auto ….",
        ])
        .apply(|args, value| {
            args.ranks = Some(positive(value)?.get());
            Ok(())
        }),
    Opt::with_value("name", "NAME", "names the job").common().details(&["Default: httperf."]).apply(|args, value| {
        args.name = Some(one_word("the name of a job", value)?);
        Ok(())
    }),
    Opt::with_value("cpus", "N", "gives each rank N processors")
        .common()
        .details(&["Default: one more than it has --threads, for what watches and reports."])
        .apply(|args, value| {
            args.cpus = Some(positive(value)?.get());
            Ok(())
        }),
    Opt::with_value("time", "X", "ends the job after X seconds")
        .common()
        .details(&[
            "Waiting and reporting are included. Units are as elsewhere: 90s, 10m, 1h. By Slurm, ranks are told to end a \
             minute before, so that there is a report. Kubernetes deletes pods that run for longer, and what they have \
             printed.",
        ])
        .apply(|args, value| {
            let limit = seconds(value)?;
            if limit < LEAST_SECONDS {
                return Err(value.expected("at least two minutes, such as 10m"));
            }
            args.time = Some(Duration::from_secs(limit.ceil() as u64));
            Ok(())
        }),
];

/// The shortest time of a job. Slurm counts in minutes, and the last one is for the report.
const LEAST_SECONDS: f64 = 120.0;

const SLURM: &[Opt<FleetArgs>] = &[
    Opt::with_value("nodes", "N", "shares the ranks among N nodes")
        .common()
        .details(&["Default: a node for each rank."])
        .apply(|args, value| {
            args.nodes = Some(positive(value)?.get());
            Ok(())
        }),
    Opt::with_value("partition", "NAME", "takes nodes of this partition").common().apply(|args, value| {
        args.partition = Some(one_word("the name of a partition", value)?);
        Ok(())
    }),
    Opt::with_value("account", "NAME", "charges this account").apply(|args, value| {
        args.account = Some(one_word("the name of an account", value)?);
        Ok(())
    }),
    Opt::with_value("log", "FILE", "has the report written to this file")
        .details(&["As `sbatch --output`: %j is the number of the job. Default: slurm-%j.out."])
        .apply(|args, value| {
            args.log = Some(one_word("the name of a file without spaces", value)?);
            Ok(())
        }),
    Opt::with_value("sbatch", "OPTION", "adds an option of sbatch, such as --constraint=fast")
        .repeatable()
        .apply(|args, value| {
            let option = text(value).filter(|text| text.starts_with('-') && !text.contains(char::is_control));
            let expected = || value.expected("an option of sbatch such as --qos=high");
            args.sbatch.push(option.ok_or_else(expected)?);
            Ok(())
        }),
    Opt::with_value("program", "PATH", "starts this program on the nodes")
        .details(&[
            "Default: the name that httperf was started by here, with its folder if it was typed with one.",
        ])
        .apply(|args, value| {
            if value.bytes().is_empty() {
                return Err(value.expected("the path of httperf on the nodes"));
            }
            args.program = Some(value.os_str().to_owned());
            Ok(())
        }),
];

const KUBERNETES: &[Opt<FleetArgs>] = &[
    Opt::with_value("image", "IMAGE", "runs this container image")
        .common()
        .details(&["`httperf` must be on its PATH. The repository has a Containerfile for one."])
        .apply(|args, value| {
            args.image = Some(one_word("an image such as registry.example/httperf:1.0.0", value)?);
            Ok(())
        }),
    Opt::with_value("namespace", "NAME", "names the namespace of all objects")
        .common()
        .details(&["Default: that of kubectl."])
        .apply(|args, value| {
            let name = text(value).filter(|name| kubernetes::is_label(name));
            let expected = || {
                value.expected("at most 63 lower-case letters, digits and `-`")
            };
            args.namespace = Some(name.ok_or_else(expected)?);
            Ok(())
        }),
    Opt::with_value("memory", "SIZE", "gives each rank this much memory")
        .common()
        .details(&["Such as 512Mi or 2Gi. Default: 1Gi."])
        .apply(|args, value| {
            let size = text(value).filter(|size| kubernetes::is_size(size));
            let expected = || value.expected("a size such as 512Mi or 2Gi");
            args.memory = Some(size.ok_or_else(expected)?);
            Ok(())
        }),
    Opt::with_value("node-selector", "KEY=VALUE", "takes only nodes with this label")
        .repeatable()
        .apply(|args, value| {
            let pair = text(value).and_then(|text| {
                let (key, value) = text.split_once('=')?;
                let is_fit = kubernetes::is_label_key(key) && kubernetes::is_label_value(value);
                is_fit.then(|| (key.to_owned(), value.to_owned()))
            });
            let expected = || value.expected("a label such as pool=load");
            args.node_selector.push(pair.ok_or_else(expected)?);
            Ok(())
        }),
    Opt::flag("share-nodes", "prefers a node of its own for each rank, but does not wait for one")
        .details(&["Without it, ranks for which there is no node are Pending."])
        .apply(|args, _| {
            args.shares_nodes = true;
            Ok(())
        }),
    Opt::flag("no-sysctls", "leaves the range of local ports as it is")
        .details(&[
            "Otherwise net.ipv4.ip_local_port_range is 1024 to 65535 in the pods, which every cluster permits that \
             forbids no sysctls.",
        ])
        .apply(|args, _| {
            args.leaves_sysctls = true;
            Ok(())
        }),
    Opt::with_value("secret-name", "NAME", "takes the fleet's secret from this Secret, key `secret`")
        .details(&[
            "Without it, a Secret is printed with what HTTPERF_FLEET_SECRET holds, or with random letters if that is \
             not set.",
        ])
        .apply(|args, value| {
            let name = text(value).filter(|name| kubernetes::is_object_name(name));
            let expected = || value.expected("the name of a Secret");
            args.secret_name = Some(name.ok_or_else(expected)?);
            Ok(())
        }),
    Opt::with_value("output", "yaml|json", "prints the manifests in this form")
        .short('o')
        .details(&["Default: yaml."])
        .apply(|args, value| {
            args.form = match value.bytes() {
                b"yaml" => Some(Form::Yaml),
                b"json" => Some(Form::Json),
                _ => return Err(value.expected("yaml or json")),
            };
            Ok(())
        }),
];

/// The arguments of `httperf fleet`.
#[derive(Clone, Debug, Default)]
pub struct FleetArgs {
    words: Vec<OsString>,
    ranks: Option<u32>,
    name: Option<String>,
    cpus: Option<u32>,
    /// `--time`, in whole seconds.
    pub(super) time: Option<Duration>,
    pub(super) nodes: Option<u32>,
    pub(super) partition: Option<String>,
    pub(super) account: Option<String>,
    pub(super) log: Option<String>,
    pub(super) sbatch: Vec<String>,
    pub(super) program: Option<OsString>,
    pub(super) image: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) memory: Option<String>,
    pub(super) node_selector: Vec<(String, String)>,
    pub(super) shares_nodes: bool,
    pub(super) leaves_sysctls: bool,
    pub(super) secret_name: Option<String>,
    /// `--output`.
    pub(super) form: Option<Form>,
}

/// The form of manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Yaml,
    Json,
}

/// A scheduler that starts fleets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Launcher {
    Slurm,
    Kubernetes,
}

impl Launcher {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Slurm => "slurm",
            Self::Kubernetes => "kubernetes",
        }
    }
}

impl FleetArgs {
    /// The scheduler, if the options fit it.
    pub(super) fn launcher(&self) -> Result<Launcher, ParseStop> {
        let expected = |got: &str| {
            let mpi = (got == "`mpirun`" || got == "`mpi`")
                .then(|| "mpirun needs nothing: mpirun -n 8 httperf --fleet auto URL --rate 1000".to_owned());
            let message = format!("expected slurm or kubernetes, got {got}");
            Err(ParseStop::rejected(message).with_hint(mpi))
        };
        let launcher = match &self.words[..] {
            [] => return expected("none"),
            [word] if word == "slurm" => Launcher::Slurm,
            [word] if word == "kubernetes" => Launcher::Kubernetes,
            [word] => return expected(&format!("`{}`", word.to_string_lossy())),
            [_, second, ..] => {
                let second = second.to_string_lossy();
                let hint = "the command line of each rank goes behind `--`".to_owned();
                let message = format!("expected `--` before `{second}`");
                return Err(ParseStop::rejected(message).with_hint(Some(hint)));
            }
        };
        let of_slurm = [
            ("--nodes", self.nodes.is_some()),
            ("--partition", self.partition.is_some()),
            ("--account", self.account.is_some()),
            ("--log", self.log.is_some()),
            ("--sbatch", !self.sbatch.is_empty()),
            ("--program", self.program.is_some()),
        ];
        let of_kubernetes = [
            ("--image", self.image.is_some()),
            ("--namespace", self.namespace.is_some()),
            ("--memory", self.memory.is_some()),
            ("--node-selector", !self.node_selector.is_empty()),
            ("--share-nodes", self.shares_nodes),
            ("--no-sysctls", self.leaves_sysctls),
            ("--secret-name", self.secret_name.is_some()),
            ("--output", self.form.is_some()),
        ];
        let unfit = match launcher {
            Launcher::Slurm => &of_kubernetes[..],
            Launcher::Kubernetes => &of_slurm[..],
        };
        match unfit.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => {
                Err(ParseStop::rejected(format!("{option}: does nothing for {}", launcher.name())))
            }
            None => Ok(launcher),
        }
    }

    /// The number of ranks, if all that the scheduler needs is there.
    pub(super) fn ranks_of(&self, launcher: Launcher) -> Result<u32, ParseStop> {
        let needed = |option: &str, what: &str| {
            Err(ParseStop::rejected(format!("{option}: expected {what}, got none")))
        };
        let Some(ranks) = self.ranks else { return needed("--ranks", "the number of processes") };
        match launcher {
            Launcher::Slurm => slurm::check(self, ranks)?,
            Launcher::Kubernetes if self.image.is_none() => {
                return needed("--image", "a container image with httperf");
            }
            Launcher::Kubernetes => kubernetes::check_name(self.name(), ranks)?,
        }
        Ok(ranks)
    }

    /// The job's name.
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("httperf")
    }

    /// The processors of each rank.
    pub(super) fn cpus_of(&self, line: &Line) -> Result<u32, ParseStop> {
        match (self.cpus, line.args.load.threads) {
            (Some(cpus), _) => Ok(cpus),
            (None, None) => Ok(1 + SPARE_CPUS),
            (None, Some(Threads::Count(threads))) => Ok(threads.get().saturating_add(SPARE_CPUS)),
            (None, Some(Threads::Auto)) => Err(ParseStop::rejected(
                "--cpus: expected the processors of each rank, as --threads is auto, got none",
            )),
        }
    }
}

/// Reads a value that stands for itself in a job script and in a manifest.
fn one_word(what: &str, value: Value<'_>) -> Result<String, ParseStop> {
    let is_plain = |text: &String| {
        let is_fit =
            |letter: char| !(letter.is_whitespace() || letter.is_control() || "\"'\\#`$".contains(letter));
        !text.is_empty() && !text.starts_with('-') && text.chars().all(is_fit)
    };
    text(value).filter(is_plain).ok_or_else(|| value.expected(what))
}

fn text(value: Value<'_>) -> Option<String> {
    std::str::from_utf8(value.bytes()).ok().map(str::to_owned)
}

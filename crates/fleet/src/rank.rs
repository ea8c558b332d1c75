//! Ranks: which of several equal processes this is, by option or by what a launcher has set.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use thiserror::Error;

/// One of several equal processes that carry out a run together. Displays as `index/size`, as `--client` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Its number, from 0; below `size`.
    index: u32,
    size: NonZeroU32,
}

impl Rank {
    /// Returns rank `index` of `size`; `None` if there is none.
    #[must_use]
    pub fn new(index: u32, size: u32) -> Option<Self> {
        let size = NonZeroU32::new(size)?;
        (index < size.get()).then_some(Self { index, size })
    }

    /// Its number, from 0.
    #[must_use]
    pub fn index(self) -> u32 {
        self.index
    }

    /// The number of ranks.
    #[must_use]
    pub fn size(self) -> NonZeroU32 {
        self.size
    }

    /// Returns true for rank 0, with whom the others meet.
    #[must_use]
    pub fn is_first(self) -> bool {
        self.index == 0
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.size)
    }
}

/// A text that names no rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a rank and the number of ranks such as 0/4")]
pub struct NotARank;

impl FromStr for Rank {
    type Err = NotARank;

    fn from_str(text: &str) -> Result<Self, NotARank> {
        let (index, size) = text.split_once('/').ok_or(NotARank)?;
        let number = |text: &str| whole(text).ok_or(NotARank);
        Self::new(number(index)?, number(size)?).ok_or(NotARank)
    }
}

/// A process as its launcher describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    /// The launcher's name.
    pub launcher: &'static str,
    /// The rank of this process.
    pub rank: Rank,
    /// The number of this process among those on its machine, from 0, if the launcher says it.
    pub local_index: Option<u32>,
    /// The host of rank 0, if the launcher says where that is.
    pub first_host: Option<String>,
    /// The job's name. All its processes have the same, and no other job of the launcher has it.
    pub job: String,
    /// False if the launcher starts the processes at times of its own, so that they cannot wait for each other.
    pub starts_together: bool,
}

/// An environment that does not tell what it should.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EnvironmentError {
    /// A variable has no number.
    #[error("{variable}: expected a number, got `{value}`")]
    NotANumber {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// The rank is not below the size.
    #[error("{variable}: expected a number below {size_variable} ({size}), got {index}")]
    OutOfRange {
        /// The variable with the rank.
        variable: &'static str,
        /// The variable with the number of ranks.
        size_variable: &'static str,
        /// The rank.
        index: u32,
        /// The number of ranks.
        size: u32,
    },
    /// A launcher gives the rank, but nothing gives the number of ranks.
    #[error(
        "{launcher} gives the rank in {variable}, but nothing gives the number of ranks in {size_variable}"
    )]
    NoSize {
        /// The launcher.
        launcher: &'static str,
        /// The variable with the rank.
        variable: &'static str,
        /// The variable that is missing.
        size_variable: &'static str,
    },
    /// A batch script of Slurm runs the program by itself, where Slurm's variables say that it is one of many.
    #[error("SLURM_PROCID is set, but not SLURM_STEP_ID: expected to be started by srun")]
    NotAStep,
    /// No launcher is known by its variables.
    #[error("no launcher has set a rank")]
    NoLauncher,
}

/// The variables by which a launcher describes a process.
struct Launcher {
    name: &'static str,
    rank: &'static str,
    size: &'static str,
    /// The number of the process among those on its machine.
    local_index: Option<&'static str>,
    /// The number of processes on its machine.
    local_size: Option<&'static str>,
    /// The variables that make up the name of the job.
    job: &'static [&'static str],
    /// The variable with the host of rank 0, or with a list that begins with it.
    first_host: Option<&'static str>,
    /// Decides whether the variables above can be relied on.
    applies: fn(Variables<'_>) -> bool,
    starts_together: bool,
}

/// The environment.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The variable in which a user gives the number of ranks where a launcher does not.
pub const SIZE_VARIABLE: &str = "HTTPERF_FLEET_SIZE";

/// What all launchers have in common that do nothing unusual.
const USUAL: Launcher = Launcher {
    name: "",
    rank: "",
    size: "",
    local_index: None,
    local_size: None,
    job: &[],
    first_host: None,
    applies: |_| true,
    starts_together: true,
};

/// All launchers, in the order in which they are believed: mpirun within a job of Slurm sees the variables of both.
const LAUNCHERS: &[Launcher] = &[
    Launcher {
        name: "Open MPI",
        rank: "OMPI_COMM_WORLD_RANK",
        size: "OMPI_COMM_WORLD_SIZE",
        local_index: Some("OMPI_COMM_WORLD_LOCAL_RANK"),
        local_size: Some("OMPI_COMM_WORLD_LOCAL_SIZE"),
        job: &["PMIX_NAMESPACE"],
        ..USUAL
    },
    Launcher {
        name: "PMI",
        rank: "PMI_RANK",
        size: "PMI_SIZE",
        local_index: Some("MPI_LOCALRANKID"),
        local_size: Some("MPI_LOCALNRANKS"),
        job: &["PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID", "PMI_PORT"],
        ..USUAL
    },
    Launcher {
        name: "Slurm",
        rank: "SLURM_PROCID",
        size: "SLURM_NTASKS",
        local_index: Some("SLURM_LOCALID"),
        job: &["SLURM_JOB_ID", "SLURM_STEP_ID"],
        first_host: Some("SLURM_STEP_NODELIST"),
        // A batch script that runs the program itself has a rank and a size too, and is the only process. A step of one
        // task in an array is an element of that.
        applies: |read| {
            let is_element =
                read("SLURM_ARRAY_TASK_ID").is_some() && read("SLURM_NTASKS").as_deref() == Some("1");
            read("SLURM_STEP_ID").is_some() && !is_element
        },
        ..USUAL
    },
    Launcher {
        name: "Flux",
        rank: "FLUX_TASK_RANK",
        size: "FLUX_JOB_SIZE",
        local_index: Some("FLUX_TASK_LOCAL_ID"),
        job: &["FLUX_JOB_ID"],
        ..USUAL
    },
    Launcher { name: "Kubernetes", rank: "JOB_COMPLETION_INDEX", size: SIZE_VARIABLE, ..USUAL },
    Launcher {
        name: "Slurm array",
        rank: "SLURM_ARRAY_TASK_ID",
        size: "SLURM_ARRAY_TASK_COUNT",
        job: &["SLURM_ARRAY_JOB_ID"],
        starts_together: false,
        ..USUAL
    },
    Launcher {
        name: "AWS Batch",
        rank: "AWS_BATCH_JOB_NODE_INDEX",
        size: "AWS_BATCH_JOB_NUM_NODES",
        job: &["AWS_BATCH_JOB_ID"],
        first_host: Some("AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"),
        ..USUAL
    },
    Launcher {
        name: "torchrun",
        rank: "RANK",
        size: "WORLD_SIZE",
        local_index: Some("LOCAL_RANK"),
        local_size: Some("LOCAL_WORLD_SIZE"),
        job: &["TORCHELASTIC_RUN_ID"],
        first_host: Some("MASTER_ADDR"),
        ..USUAL
    },
];

/// A launcher with the variables that are read where it is believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownLauncher {
    /// Its name.
    pub name: &'static str,
    /// The variable with the rank of a process.
    pub rank: &'static str,
    /// The variable with the number of ranks.
    pub size: &'static str,
    /// All others, without those of its job's name.
    pub also: Vec<&'static str>,
    /// The variables that make up the name of the job.
    pub job: &'static [&'static str],
}

/// All launchers, in the order in which they are believed.
#[must_use]
pub fn known_launchers() -> Vec<KnownLauncher> {
    let known = |launcher: &Launcher| KnownLauncher {
        name: launcher.name,
        rank: launcher.rank,
        size: launcher.size,
        also: [launcher.local_index, launcher.local_size, launcher.first_host]
            .into_iter()
            .flatten()
            .collect(),
        job: launcher.job,
    };
    LAUNCHERS.iter().map(known).collect()
}

/// Returns what a launcher has set for this process. `read` returns the value of an environment variable.
///
/// # Errors
/// If no launcher has set a rank, or if what it has set cannot be.
pub fn launched(read: Variables<'_>) -> Result<Launched, EnvironmentError> {
    let believed = |launcher: &&Launcher| read(launcher.rank).is_some() && (launcher.applies)(read);
    let Some(launcher) = LAUNCHERS.iter().find(believed) else {
        let is_script = read("SLURM_PROCID").is_some();
        return Err(if is_script { EnvironmentError::NotAStep } else { EnvironmentError::NoLauncher });
    };
    let number = |variable: &'static str| match read(variable) {
        None => Ok(None),
        Some(value) => match whole(&value) {
            Some(number) => Ok(Some(number)),
            None => Err(EnvironmentError::NotANumber { variable, value }),
        },
    };
    let (variable, size_variable) = (launcher.rank, launcher.size);
    let index = number(variable)?.unwrap_or_default();
    let size = number(size_variable)?.ok_or(EnvironmentError::NoSize {
        launcher: launcher.name,
        variable,
        size_variable,
    })?;
    let index = if launcher.starts_together { index } else { nth_of_array(index, &number)? };
    let rank = Rank::new(index, size).ok_or(EnvironmentError::OutOfRange {
        variable,
        size_variable,
        index,
        size,
    })?;
    let local = |variable: Option<&'static str>| variable.map_or(Ok(None), number);
    let is_local = local(launcher.local_size)? == Some(size);
    let named = launcher.first_host.and_then(read).and_then(|hosts| first_host(&hosts));
    Ok(Launched {
        launcher: launcher.name,
        rank,
        local_index: local(launcher.local_index)?,
        first_host: named.or_else(|| is_local.then(|| "127.0.0.1".to_owned())),
        job: launcher.job.iter().filter_map(|variable| read(variable)).collect::<Vec<_>>().join("."),
        starts_together: launcher.starts_together,
    })
}

/// Returns the place of an element in its array, whose identifiers go from a first one in steps
/// (`sbatch --array=10-40:10`).
fn nth_of_array(
    id: u32,
    number: &dyn Fn(&'static str) -> Result<Option<u32>, EnvironmentError>,
) -> Result<u32, EnvironmentError> {
    let first = number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0);
    let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
    Ok(id.saturating_sub(first) / step)
}

/// Returns the first host of a list such as `n[003-010,12],m4`, the form in which Slurm names nodes.
fn first_host(list: &str) -> Option<String> {
    let mut name = String::new();
    let mut rest = list.trim();
    while let Some(end) = rest.find(['[', ',']) {
        name.push_str(&rest[..end]);
        if rest.as_bytes()[end] == b',' {
            return (!name.is_empty()).then_some(name);
        }
        let (range, after) = rest[end + 1..].split_once(']')?;
        name.push_str(range.split(['-', ',']).next()?);
        rest = after;
    }
    name.push_str(rest);
    (!name.is_empty()).then_some(name)
}

/// A number of decimal digits.
fn whole(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched_with(variables: &[(&str, &str)]) -> Result<Launched, EnvironmentError> {
        launched(&|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[track_caller]
    fn check(
        variables: &[(&str, &str)],
        launcher: &str,
        rank: &str,
        local_index: u32,
        host: Option<&str>,
        job: &str,
    ) {
        let found = launched_with(variables).expect("a launcher has set a rank");
        assert_eq!(
            (
                found.launcher,
                found.rank.to_string().as_str(),
                found.local_index.unwrap_or(0),
                found.first_host.as_deref()
            ),
            (launcher, rank, local_index, host)
        );
        assert_eq!(found.job, job);
        assert_eq!(found.starts_together, launcher != "Slurm array");
    }

    const OPEN_MPI: &[(&str, &str)] = &[
        ("OMPI_COMM_WORLD_RANK", "2"),
        ("OMPI_COMM_WORLD_SIZE", "8"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
        ("PMIX_NAMESPACE", "1234"),
    ];

    const SLURM: &[(&str, &str)] = &[
        ("SLURM_PROCID", "3"),
        ("SLURM_NTASKS", "4"),
        ("SLURM_LOCALID", "1"),
        ("SLURM_JOB_ID", "17"),
        ("SLURM_STEP_ID", "0"),
        ("SLURM_STEP_NODELIST", "n[3-4]"),
    ];

    #[test]
    fn open_mpi_gives_a_rank_and_the_host_if_all_are_on_one() {
        check(OPEN_MPI, "Open MPI", "2/8", 1, None, "1234");
        let on_one: Vec<_> =
            OPEN_MPI.iter().map(|&(name, value)| (name, if value == "4" { "8" } else { value })).collect();
        check(&on_one, "Open MPI", "2/8", 1, Some("127.0.0.1"), "1234");
    }

    #[test]
    fn pmi_gives_a_rank() {
        let hydra = [
            ("PMI_RANK", "1"),
            ("PMI_SIZE", "2"),
            ("MPI_LOCALRANKID", "1"),
            ("MPI_LOCALNRANKS", "2"),
            ("PMI_PORT", "node:40123"),
        ];
        check(&hydra, "PMI", "1/2", 1, Some("127.0.0.1"), "node:40123");
    }

    #[test]
    fn a_step_of_slurm_gives_a_rank_and_its_first_node() {
        check(SLURM, "Slurm", "3/4", 1, Some("n3"), "17.0");
    }

    #[test]
    fn a_batch_script_is_no_rank() {
        let script: Vec<_> = SLURM.iter().copied().filter(|&(name, _)| name != "SLURM_STEP_ID").collect();
        assert_eq!(launched_with(&script), Err(EnvironmentError::NotAStep));
    }

    #[test]
    fn flux_gives_a_rank() {
        let flux = [
            ("FLUX_TASK_RANK", "0"),
            ("FLUX_JOB_SIZE", "3"),
            ("FLUX_TASK_LOCAL_ID", "0"),
            ("FLUX_JOB_ID", "f2"),
        ];
        check(&flux, "Flux", "0/3", 0, None, "f2");
    }

    #[test]
    fn kubernetes_gives_an_index_and_the_user_the_size() {
        let pod = [("JOB_COMPLETION_INDEX", "5"), ("HTTPERF_FLEET_SIZE", "6")];
        check(&pod, "Kubernetes", "5/6", 0, None, "");
        let no_size = EnvironmentError::NoSize {
            launcher: "Kubernetes",
            variable: "JOB_COMPLETION_INDEX",
            size_variable: "HTTPERF_FLEET_SIZE",
        };
        assert_eq!(launched_with(&pod[..1]), Err(no_size));
    }

    #[test]
    fn an_element_of_an_array_is_a_rank_with_or_without_a_step() {
        let array = [
            ("SLURM_ARRAY_TASK_ID", "30"),
            ("SLURM_ARRAY_TASK_COUNT", "4"),
            ("SLURM_ARRAY_TASK_MIN", "10"),
            ("SLURM_ARRAY_TASK_STEP", "10"),
            ("SLURM_ARRAY_JOB_ID", "99"),
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "1"),
        ];
        check(&array, "Slurm array", "2/4", 0, None, "99");
        let step: Vec<_> = array.into_iter().chain([("SLURM_STEP_ID", "0")]).collect();
        check(&step, "Slurm array", "2/4", 0, None, "99");
    }

    #[test]
    fn aws_batch_gives_a_rank_and_the_address_of_the_main_node() {
        let node = [
            ("AWS_BATCH_JOB_NODE_INDEX", "1"),
            ("AWS_BATCH_JOB_NUM_NODES", "2"),
            ("AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS", "10.0.0.7"),
            ("AWS_BATCH_JOB_ID", "j"),
        ];
        check(&node, "AWS Batch", "1/2", 0, Some("10.0.0.7"), "j");
    }

    #[test]
    fn torchrun_gives_a_rank_and_the_address_of_the_first() {
        let worker = [("RANK", "1"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "0"), ("MASTER_ADDR", "gpu1")];
        check(&worker, "torchrun", "1/2", 0, Some("gpu1"), "");
    }

    #[test]
    fn of_two_launchers_the_inner_one_is_believed() {
        let both: Vec<_> = SLURM.iter().chain(OPEN_MPI).copied().collect();
        check(&both, "Open MPI", "2/8", 1, None, "1234");
    }

    #[test]
    fn what_a_launcher_cannot_mean_is_refused() {
        let with =
            |rank: &'static str, size: &'static str| launched_with(&[("PMI_RANK", rank), ("PMI_SIZE", size)]);
        let message =
            |outcome: Result<Launched, EnvironmentError>| outcome.expect_err("it is wrong").to_string();
        assert_eq!(message(with("4", "4")), "PMI_RANK: expected a number below PMI_SIZE (4), got 4");
        assert_eq!(message(with("0", "0")), "PMI_RANK: expected a number below PMI_SIZE (0), got 0");
        assert_eq!(message(with("-1", "4")), "PMI_RANK: expected a number, got `-1`");
        assert_eq!(message(launched_with(&[])), "no launcher has set a rank");
    }

    #[test]
    fn the_first_host_of_a_list_keeps_its_zeros() {
        for (list, first) in [
            ("n1", Some("n1")),
            ("n[003-010,12],m4", Some("n003")),
            ("a,b", Some("a")),
            ("rack[1-2]node[07-09]-ib", Some("rack1node07-ib")),
            ("", None),
            ("n[1", None),
        ] {
            assert_eq!(first_host(list).as_deref(), first, "{list}");
        }
    }

    #[test]
    fn a_rank_is_written_as_its_number_and_how_many_there_are() {
        assert_eq!("3/4".parse(), Ok(Rank { index: 3, size: NonZeroU32::new(4).expect("it is not 0") }));
        for wrong in ["4/4", "1", "1/", "/2", "-1/2", "0/0", "1/2/3", "+1/2", ""] {
            assert_eq!(wrong.parse::<Rank>(), Err(NotARank), "{wrong}");
        }
    }
}

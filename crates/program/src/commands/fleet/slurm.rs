//! A job script of Slurm.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use httperf_command_line::args::os_string;
use httperf_command_line::grammar::ParseStop;
use httperf_command_line::terminal::messages::Program;

use super::options::FleetArgs;
use super::{Job, Printed};

/// Seconds before the end of the job's time at which ranks are told to end. Slurm may be a minute early.
const REPORT_SECONDS: u32 = 60;

/// Refuses nodes that have no rank.
pub(super) fn check(args: &FleetArgs, ranks: u32) -> Result<(), ParseStop> {
    match args.nodes {
        Some(nodes) if nodes > ranks => {
            Err(ParseStop::rejected(format!("--nodes: expected at most the {ranks} ranks, got {nodes}")))
        }
        _ => Ok(()),
    }
}

/// The script. `root` is the program as it was started.
pub(super) fn script(root: &Program, job: &Job<'_>) -> anyhow::Result<Printed> {
    let Job { args, ranks, cpus, line } = job;
    let nodes = args.nodes.unwrap_or(*ranks);
    let mut text = b"#!/bin/bash\n# Written by `httperf fleet slurm`. Hand it to sbatch.\n".to_vec();
    let mut directives = vec![
        format!("--job-name={}", args.name()),
        format!("--nodes={nodes}"),
        format!("--ntasks={ranks}"),
        format!("--ntasks-per-node={}", ranks.div_ceil(nodes)),
        format!("--cpus-per-task={cpus}"),
        // What is left when a node fails goes on and reports.
        "--no-kill".to_owned(),
        format!("--signal=TERM@{REPORT_SECONDS}"),
    ];
    directives.extend(args.time.map(|time| format!("--time={}", slurm_time(time))));
    directives.extend(args.partition.as_ref().map(|name| format!("--partition={name}")));
    directives.extend(args.account.as_ref().map(|name| format!("--account={name}")));
    directives.extend(args.log.as_ref().map(|file| format!("--output={file}")));
    directives.extend(args.sbatch.iter().cloned());
    for directive in directives {
        text.extend_from_slice(format!("#SBATCH {directive}\n").as_bytes());
    }
    text.extend_from_slice(
        format!(
            "\n\
             # Known to the ranks alone. It is on no command line, so that ps does not show it.\n\
             HTTPERF_FLEET_SECRET=$(head -c 32 /dev/urandom | base64 -w 0)\n\
             export HTTPERF_FLEET_SECRET\n\
             \n\
             # A rank that fails ends neither the others nor the job: they report what is missing. Without --mpi=none, a\n\
             # default of the cluster may describe ranks in the variables of MPI, which do not say where rank 0 is.\n\
             srun --ntasks={ranks} --cpus-per-task={cpus} --export=ALL --mpi=none \\\n    \
             --kill-on-bad-exit=0 --wait=0 --no-kill \\\n    "
        )
        .as_bytes(),
    );
    let program = args.program.clone().unwrap_or_else(|| own_path(root));
    let words: Vec<&[u8]> =
        std::iter::once(&program).chain(&line.words).map(|word| word.as_bytes()).collect();
    let quoted = shlex::bytes::try_join(words).expect("a command line has no NUL bytes");
    text.extend_from_slice(&quoted);
    text.push(b'\n');

    let mut notes = Vec::new();
    if let Some(file) = line.missing.first() {
        notes.push(format!(
            "{} is not here, so only the words of the command line were checked",
            file.display()
        ));
    }
    Ok(Printed { text, notes, next: "sbatch SCRIPT".to_owned() })
}

/// The name that this program was started by. One with a folder is good in every folder.
fn own_path(root: &Program) -> OsString {
    let typed = os_string(root.typed());
    if !root.typed().contains(&b'/') {
        return typed;
    }
    std::path::absolute(Path::new(&typed)).map_or(typed, std::path::PathBuf::into_os_string)
}

/// A time as Slurm writes it, in whole seconds.
fn slurm_time(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    let clock = format!("{hours:02}:{minutes:02}:{:02}", seconds % 60);
    if days == 0 { clock } else { format!("{days}-{clock}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_form_that_slurm_takes() {
        for (seconds, text) in [(120, "00:02:00"), (5_400, "01:30:00"), (90_061, "1-01:01:01")] {
            assert_eq!(slurm_time(Duration::from_secs(seconds)), text);
        }
    }
}

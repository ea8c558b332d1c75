//! Slurm: four nodes on this machine.

use rustix::process::Signal;

use crate::checks::{Field, Losses, early_end, job_script, lost_ranks, other_plans, same_run, strangers};
use crate::cluster::Cluster;
use crate::job::Job;
use crate::support::running::peer;
use crate::turn;

/// The secret is needed, as names of nodes lead to other machines.
fn srun(cluster: &Cluster, ranks: usize) -> std::process::Command {
    let mut command = cluster.srun(ranks);
    command.env("HTTPERF_FLEET_SECRET", "known to all ranks");
    command
}

#[test]
fn srun_starts_the_run_of_one_process() {
    let _alone = peer!(turn(true));
    let (field, cluster) = (peer!(Field::new()), peer!(Cluster::start()));
    same_run(&field, &|ranks| srun(&cluster, ranks));
}

#[test]
fn ranks_of_srun_with_other_plans_offer_nothing_and_strangers_do_not_disturb() {
    let _alone = peer!(turn(true));
    let (field, cluster) = (peer!(Field::new()), peer!(Cluster::start()));
    other_plans(&field, &|ranks| srun(&cluster, ranks));
    strangers(&field, &|ranks| srun(&cluster, ranks));
}

#[test]
fn a_rank_of_srun_that_is_killed_is_named_and_the_others_go_on() {
    let _alone = peer!(turn(true));
    let (field, cluster) = (peer!(Field::new()), peer!(Cluster::start()));
    let losses = Losses { lets_others_go_on: true, has_status: true, lets_others_report: true };
    lost_ranks(&field, &|ranks| srun(&cluster, ranks), &losses);
}

#[test]
fn scancel_and_an_interrupt_that_srun_hands_on_end_all_with_a_report() {
    let _alone = peer!(turn(true));
    let (field, cluster) = (peer!(Field::new()), peer!(Cluster::start()));
    early_end(&field, &|ranks| srun(&cluster, ranks), |_| cluster.cancel(), true);
    // By itself, srun takes a first interrupt for a question, and kills all after a second one.
    let launcher = |ranks| {
        let mut command = srun(&cluster, ranks);
        command.arg("--disable-status");
        command
    };
    early_end(&field, &launcher, |job: &Job| job.signal(Signal::INT), true);
}

#[test]
fn srun_without_a_secret_is_told_how_to_make_one() {
    let _alone = peer!(turn(true));
    let (field, cluster) = (peer!(Field::new()), peer!(Cluster::start()));
    crate::checks::no_secret(&field, &|ranks| cluster.srun(ranks));
}

#[test]
fn sbatch_runs_the_script_that_is_printed() {
    let _alone = peer!(turn(true));
    let (field, cluster) = (peer!(Field::new()), peer!(Cluster::start()));
    job_script(&field, cluster.command("sbatch"));
}

//! Open MPI and MPICH.

use std::process::Command;

use rustix::process::Signal;

use crate::checks::{Field, Losses, early_end, lost_ranks, other_plans, same_run, strangers};
use crate::support::running::{find, peer};
use crate::turn;

/// mpirun of Open MPI, also where MPICH's is the default.
fn open_mpi(ranks: usize) -> Option<Command> {
    let mut command = Command::new(find("mpirun.openmpi")?);
    // More ranks than processors, and run by root in a container.
    command.args(["--oversubscribe", "--allow-run-as-root", "-n", &ranks.to_string()]);
    Some(command)
}

/// mpiexec of MPICH.
fn mpich(ranks: usize) -> Option<Command> {
    let mut command = Command::new(find("mpiexec.hydra")?);
    command.args(["-n", &ranks.to_string()]);
    Some(command)
}

/// A launcher that a test has looked for.
const THERE: &str = "it was there before";

/// Makes the command that starts this many ranks.
type Start = fn(usize) -> Command;

fn both() -> Option<[Start; 2]> {
    open_mpi(1).zip(mpich(1))?;
    Some([|ranks| open_mpi(ranks).expect(THERE), |ranks| mpich(ranks).expect(THERE)])
}

#[test]
fn mpi_starts_the_run_of_one_process() {
    let _alone = peer!(turn(false));
    let field = peer!(Field::new());
    for launcher in peer!(both()) {
        same_run(&field, &launcher);
    }
}

#[test]
fn ranks_of_mpi_with_other_plans_offer_nothing() {
    let _alone = peer!(turn(false));
    let field = peer!(Field::new());
    for launcher in peer!(both()) {
        other_plans(&field, &launcher);
    }
}

#[test]
fn strangers_do_not_disturb_a_meeting_below_mpi() {
    let _alone = peer!(turn(false));
    let field = peer!(Field::new());
    for launcher in peer!(both()) {
        strangers(&field, &launcher);
    }
}

#[test]
fn a_rank_of_open_mpi_that_is_killed_is_named() {
    let _alone = peer!(turn(false));
    let (field, _) = (peer!(Field::new()), peer!(open_mpi(1)));
    let losses = Losses { lets_others_go_on: false, has_status: true, lets_others_report: true };
    lost_ranks(&field, &|ranks| open_mpi(ranks).expect(THERE), &losses);
}

#[test]
fn other_ranks_go_on_where_mpirun_lets_them() {
    let _alone = peer!(turn(false));
    let (field, _) = (peer!(Field::new()), peer!(open_mpi(1)));
    let launcher = |ranks| {
        let mut command = open_mpi(ranks).expect(THERE);
        command.arg("--enable-recovery");
        command
    };
    lost_ranks(
        &field,
        &launcher,
        &Losses { lets_others_go_on: true, has_status: false, lets_others_report: true },
    );
}

/// MPICH kills all at once.
#[test]
fn no_rank_of_mpich_goes_on_when_one_is_killed() {
    let _alone = peer!(turn(false));
    let (field, _) = (peer!(Field::new()), peer!(mpich(1)));
    let losses = Losses { lets_others_go_on: false, has_status: true, lets_others_report: false };
    lost_ranks(&field, &|ranks| mpich(ranks).expect(THERE), &losses);
}

#[test]
fn a_signal_to_mpi_ends_all_with_a_result() {
    let _alone = peer!(turn(false));
    let field = peer!(Field::new());
    for launcher in peer!(both()) {
        for signal in [Signal::TERM, Signal::INT] {
            early_end(&field, &launcher, |job| job.signal(signal), true);
        }
    }
}

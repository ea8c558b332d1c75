//! A Slurm of four nodes on this machine, with an authentication service of its own.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::job::until;
use crate::support::group::Group;
use crate::support::running::find;

/// The programs that are needed.
const PROGRAMS: [&str; 7] = ["munged", "slurmctld", "slurmd", "srun", "scancel", "sinfo", "unshare"];

/// Starts everything in the foreground. Names of nodes lead to this machine, but not outside of this.
const SCRIPT: &str = r#"
set -e
cd "$1"
mount --bind hosts /etc/hosts
munged --foreground --force --key-file "$1/munge/key" --socket "$1/munge/socket" --pid-file "$1/munge/pid" \
    --log-file "$1/munge/log" --seed-file "$1/munge/seed" --num-threads 2 &
until [ -S munge/socket ]; do sleep 0.05; done
export SLURM_CONF="$1/slurm.conf"
slurmctld -D -c &
for node in n1 n2 n3 n4; do slurmd -D -N $node & done
wait
"#;

/// A running cluster. It ends when dropped, with all its processes: they are in a namespace of their own.
pub(crate) struct Cluster {
    _group: Group,
    folder: TempDir,
}

impl Cluster {
    /// Starts a cluster; `None`, with a word on stdout, if Slurm is not installed.
    pub(crate) fn start() -> Option<Self> {
        for program in PROGRAMS {
            find(program)?;
        }
        let folder = tempfile::tempdir().expect("a folder can be made");
        let root = folder.path();
        furnish(root).expect("the folder can be written to");
        let log = File::create(root.join("output.log")).expect("the folder can be written to");
        let mut command = Command::new("unshare");
        command.args([
            "--mount",
            "--pid",
            "--mount-proc",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            SCRIPT,
            "sh",
        ]);
        command.arg(root).env("PATH", path()).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a file can be shared")).stderr(log);
        let cluster = Self { _group: Group::spawn(&mut command).expect("unshare can be started"), folder };
        let are_idle = until(|| {
            let output = cluster.command("sinfo").args(["-h", "-N", "-o", "%t"]).output().ok()?;
            let states = String::from_utf8_lossy(&output.stdout).into_owned();
            (states.lines().filter(|state| *state == "idle").count() == 4).then_some(())
        });
        let log = || fs::read_to_string(cluster.folder.path().join("output.log")).unwrap_or_default();
        assert!(are_idle.is_some(), "the nodes are not idle: {}", log());
        Some(cluster)
    }

    /// A program of Slurm that knows this cluster.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.folder.path().join("slurm.conf")).stdin(Stdio::null());
        command
    }

    /// srun, for this many ranks on as many nodes.
    pub(crate) fn srun(&self, ranks: usize) -> Command {
        let mut command = self.command("srun");
        command.args([format!("-N{ranks}"), format!("-n{ranks}")]);
        command
    }

    /// Cancels all jobs.
    pub(crate) fn cancel(&self) {
        let status = self.command("scancel").args(["--state=RUNNING", "--partition=debug"]).status();
        assert!(status.expect("scancel can be started").success());
    }
}

/// The search path with the folders of servers.
fn path() -> String {
    format!("{}:/usr/local/sbin:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default())
}

fn furnish(root: &Path) -> std::io::Result<()> {
    for name in ["state", "log", "munge", "spool", "spool/n1", "spool/n2", "spool/n3", "spool/n4"] {
        fs::create_dir(root.join(name))?;
    }
    set_mode(root, 0o755)?;
    set_mode(&root.join("munge"), 0o711)?;
    let mut key = vec![0; 128];
    std::io::Read::read_exact(&mut File::open("/dev/urandom")?, &mut key)?;
    fs::write(root.join("munge/key"), key)?;
    set_mode(&root.join("munge/key"), 0o600)?;
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    fs::write(root.join("hosts"), format!("127.0.0.1 localhost {host} n1 n2 n3 n4\n::1 localhost\n"))?;
    // Held at once, so that they differ.
    let held: Vec<TcpListener> =
        (0..5).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<std::io::Result<_>>()?;
    let ports: Vec<u16> =
        held.iter().map(|held| Ok(held.local_addr()?.port())).collect::<std::io::Result<_>>()?;
    let nodes: String = (1..=4)
        .map(|node| {
            format!(
                "NodeName=n{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=2 Boards=1 SocketsPerBoard=1 \
                 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=100\n",
                ports[node]
            )
        })
        .collect();
    let (root_name, port) = (root.display(), ports[0]);
    let text = format!(
        "ClusterName=httperf
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root_name}/munge/socket
CredType=cred/munge
SlurmctldPort={port}
SlurmctldPidFile={root_name}/slurmctld.pid
SlurmdPidFile={root_name}/slurmd.%n.pid
StateSaveLocation={root_name}/state
SlurmdSpoolDir={root_name}/spool/%n
SlurmctldLogFile={root_name}/log/slurmctld.log
SlurmdLogFile={root_name}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=5
{nodes}PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"
    );
    fs::write(root.join("slurm.conf"), text)
}

fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

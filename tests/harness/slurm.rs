//! A real Slurm of one node, in a folder and on ports of its own: munged, slurmctld and slurmd as children that end with
//! this. Its GPUs are character devices that no driver stands behind. Needs root: Slurm starts jobs as their users.
//!
//! Jobs are tracked by a freezer cgroup where the machine lets us make one, so that their processes' cgroup files say
//! what they say on a cluster; else by parentage, and then only their environment names them. Accounts are taken as jobs
//! name them: enforcing them would take slurmdbd and a database, and nothing here depends on it.

use crate::probe::free_port;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest that anything of Slurm may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Pause between looks at something that another process does.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A running Slurm.
pub struct Slurm {
    folder: tempfile::TempDir,
    node: String,
    // In the order in which they end.
    daemons: Vec<Child>,
}

/// What a job is given.
pub struct Job<'a> {
    /// Account that it names.
    pub account: &'a str,
    /// What it asks for: `gpu:1`, `shard:2`.
    pub gres: &'a str,
    /// What it runs.
    pub script: &'a str,
}

/// What Slurm says of a job.
#[derive(Debug, Clone)]
pub struct JobState {
    /// `RUNNING`, `COMPLETED`.
    pub state: String,
    /// When it started, Unix seconds.
    pub start_s: i64,
    /// When it ended, Unix seconds; for a job that runs, a guess.
    pub end_s: i64,
    /// Its GRES on the node, as long as it runs: `gpu:h100:1(IDX:0)`.
    pub gres: String,
}

impl JobState {
    /// Index of the only GPU that it has or has a part of.
    ///
    /// # Errors
    /// It has none or several.
    pub fn index(&self) -> Result<u32> {
        let after = self.gres.split_once("IDX:").with_context(|| format!("no index in {:?}", self.gres))?.1;
        Ok(after.trim_end_matches(')').parse()?)
    }
}

impl Slurm {
    /// Starts one whose node has so many H100s, the last of which is cut into four shards.
    ///
    /// # Errors
    /// Slurm isn't installed (`tests/slurm/setup.sh` does that), this isn't root, or a daemon doesn't come up.
    pub fn start(gpus: u32) -> Result<Self> {
        ensure!(is_root(), "a real Slurm needs root");
        let folder = tempfile::tempdir()?;
        let node = format!("slice{}", std::process::id());
        let mut slurm = Self { folder, node, daemons: Vec::new() };
        slurm.write_configuration(gpus)?;
        slurm.start_daemons()?;
        slurm.wait("the node to be idle", |slurm| {
            Ok(slurm.run("sinfo", &["--noheader", "--format=%T"])?.trim().starts_with("idle").then_some(()))
        })?;
        Ok(slurm)
    }

    /// The node's name in Slurm.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// `slurm.conf`.
    pub fn conf(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    /// A folder for what jobs write.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Hands in a job; its id.
    ///
    /// # Errors
    /// Slurm refuses it.
    pub fn submit(&self, job: &Job) -> Result<u64> {
        let script = self.folder.path().join(format!("{}-{}.sh", job.account, job.gres.replace(':', "-")));
        std::fs::write(&script, format!("#!/bin/sh\n{}\n", job.script))?;
        let (account, gres) = (format!("--account={}", job.account), format!("--gres={}", job.gres));
        let script = script.display().to_string();
        let said = self.run("sbatch", &["--parsable", "--output=/dev/null", &account, &gres, &script])?;
        said.trim().parse().with_context(|| format!("sbatch said {said:?}"))
    }

    /// Ends a job, and waits until Slurm says so.
    ///
    /// # Errors
    /// It doesn't end.
    pub fn cancel(&self, id: u64) -> Result<JobState> {
        self.run("scancel", &[&id.to_string()])?;
        self.wait_for(id, "CANCELLED")
    }

    /// Waits until a job is in a state.
    ///
    /// # Errors
    /// It doesn't get there.
    pub fn wait_for(&self, id: u64, state: &str) -> Result<JobState> {
        self.wait(&format!("job {id} to be {state}"), |slurm| {
            Ok(slurm.job(id)?.filter(|job| job.state == state))
        })
    }

    /// What Slurm says of a job.
    ///
    /// # Errors
    /// It can't be asked.
    pub fn job(&self, id: u64) -> Result<Option<JobState>> {
        let json: serde_json::Value = serde_json::from_str(&self.run("squeue", &["--json"])?)?;
        let jobs = json["jobs"].as_array().context("squeue printed no jobs")?;
        Ok(jobs.iter().find(|job| job["job_id"] == id).map(|job| JobState {
            state: job["job_state"].as_str().unwrap_or_default().to_owned(),
            start_s: job["start_time"].as_i64().unwrap_or(0),
            end_s: job["end_time"].as_i64().unwrap_or(0),
            gres: job["gres_detail"][0].as_str().unwrap_or_default().to_owned(),
        }))
    }

    /// Waits until there is a value.
    ///
    /// # Errors
    /// There is none in time, with what the daemons logged last.
    fn wait<T>(&self, what: &str, look: impl Fn(&Self) -> Result<Option<T>>) -> Result<T> {
        let until = Instant::now() + PATIENCE;
        loop {
            let seen = look(self);
            match seen {
                Ok(Some(value)) => return Ok(value),
                _ if Instant::now() < until => std::thread::sleep(LOOK_AGAIN),
                Ok(None) => bail!("waited in vain for {what}; {}", self.logged()),
                Err(error) => {
                    return Err(error.context(format!("waited in vain for {what}; {}", self.logged())));
                }
            }
        }
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let output = Command::new(program)
            .args(arguments)
            .env("SLURM_CONF", self.conf())
            .output()
            .with_context(|| format!("{program} can't be started; tests/slurm/setup.sh installs it"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{program} {arguments:?}: {said}");
        Ok(String::from_utf8(output.stdout)?)
    }

    fn write_configuration(&self, gpus: u32) -> Result<()> {
        let at = |name: &str| self.folder.path().join(name);
        for name in ["state", "spool"] {
            std::fs::create_dir(at(name))?;
        }
        for minor in 0..gpus {
            let device = at(&format!("nvidia{minor}")).display().to_string();
            let made = Command::new("mknod").args([&device, "c", "195", &minor.to_string()]).status()?;
            ensure!(made.success(), "mknod {device} failed");
        }
        let (last, by_cgroup) = (gpus - 1, can_freeze());
        let (tracking, cgroup) = match by_cgroup {
            true => ("proctrack/cgroup", "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"),
            false => ("proctrack/linuxproc", "CgroupAutomount=no\n"),
        };
        std::fs::write(at("cgroup.conf"), cgroup)?;
        let (node, folder) = (&self.node, self.folder.path().display());
        std::fs::write(
            at("gres.conf"),
            format!(
                "NodeName={node} Name=gpu Type=h100 File={folder}/nvidia[0-{last}]\n\
                 NodeName={node} Name=shard Count=4 File={folder}/nvidia{last}\n"
            ),
        )?;
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname")?;
        let (host, controller, daemon) = (host.trim(), free_port()?, free_port()?);
        std::fs::write(
            self.conf(),
            format!(
                "ClusterName=slice\nSlurmctldHost=localhost\nSlurmctldPort={controller}\nSlurmdPort={daemon}\n\
                 AuthType=auth/munge\nAuthInfo=socket={folder}/munge.sock\nCredType=cred/munge\n\
                 SlurmUser=root\nSlurmdUser=root\nStateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool\n\
                 SlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/slurmd.pid\n\
                 SlurmctldLogFile={folder}/slurmctld.log\nSlurmdLogFile={folder}/slurmd.log\n\
                 ProctrackType={tracking}\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\nMpiDefault=none\n\
                 SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nGresTypes=gpu,shard\n\
                 AccountingStorageType=accounting_storage/none\nSwitchType=switch/none\nReturnToService=2\n\
                 SlurmdParameters=config_overrides\nMinJobAge=300\n\
                 NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=1000 Gres=gpu:h100:{gpus},shard:4\n\
                 PartitionName=gpu Nodes={node} Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES\n"
            ),
        )?;
        Ok(())
    }

    fn start_daemons(&mut self) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let at = |name: &str| self.folder.path().join(name);
        let mut key = vec![0; 1024];
        std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut key)?;
        std::fs::write(at("munge.key"), &key)?;
        std::fs::set_permissions(at("munge.key"), std::fs::Permissions::from_mode(0o400))?;
        let option = |name: &str, file: &str| format!("--{name}={}", at(file).display());
        let mut munged = Command::new("munged");
        munged.args(["--foreground", "--force"]).args([
            option("key-file", "munge.key"),
            option("socket", "munge.sock"),
            option("pid-file", "munged.pid"),
            option("log-file", "munged.log"),
            option("seed-file", "munge.seed"),
        ]);
        let mut slurmctld = Command::new("slurmctld");
        slurmctld.args(["-D", "-i"]);
        let mut slurmd = Command::new("slurmd");
        slurmd.args(["-D", "-N", &self.node]);
        let munged = self.child(munged)?;
        self.daemons.push(munged);
        let socket = at("munge.sock");
        self.wait("munged's socket", |_| Ok(socket.exists().then_some(())))?;
        for command in [slurmctld, slurmd] {
            let child = self.child(command)?;
            self.daemons.insert(0, child);
        }
        Ok(())
    }

    fn child(&self, mut command: Command) -> Result<Child> {
        let program = command.get_program().to_string_lossy().into_owned();
        let log = || {
            std::fs::OpenOptions::new().create(true).append(true).open(self.folder.path().join("daemons.log"))
        };
        command.env("SLURM_CONF", self.conf()).stdin(Stdio::null()).stdout(log()?).stderr(log()?);
        command
            .spawn()
            .with_context(|| format!("{program} can't be started; tests/slurm/setup.sh installs it"))
    }

    fn logged(&self) -> String {
        let tail = |name: &str| {
            let text = std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            format!("{name}: {}", lines[lines.len().saturating_sub(5)..].join("\n"))
        };
        [tail("slurmctld.log"), tail("slurmd.log"), tail("daemons.log")].join("\n")
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // Jobs end first: nothing else would end their processes.
        let _ = self.run("scancel", &["--user=root"]);
        let gone = |slurm: &Self| Ok(slurm.run("squeue", &["--noheader"])?.trim().is_empty().then_some(()));
        let _ = self.wait("the jobs to be gone", gone);
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let _ = std::fs::remove_dir(Path::new(FREEZER).join(format!("slurm_{}", self.node)).join("uid_0"));
        let _ = std::fs::remove_dir(Path::new(FREEZER).join(format!("slurm_{}", self.node)));
    }
}

const FREEZER: &str = "/sys/fs/cgroup/freezer";

/// Whether a freezer cgroup (version 1) can be made here.
fn can_freeze() -> bool {
    let probe = Path::new(FREEZER).join(format!("slicemeter-probe-{}", std::process::id()));
    let made = Path::new(FREEZER).is_dir() && std::fs::create_dir(&probe).is_ok();
    made && std::fs::remove_dir(&probe).is_ok()
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|facts| std::os::unix::fs::MetadataExt::uid(&facts) == 0)
}

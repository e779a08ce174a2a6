//! One collector process on one simulated node: started, asked, stopped or killed, and its spool read afterwards.

use collector::config;
use collector::spool::Spool;
use nvidia_ml::scenario::Scenario;
use prost::Message;
use schema::wire::Batch;
use simulator::library::{built, built_library};
use simulator::live::terminate;
use simulator::node::NodeFiles;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How a node is set up beyond its scenario.
pub struct Setup {
    /// Lines of `[sample]`.
    pub sample: &'static str,
    /// Lines of `[spool]` besides its directory.
    pub spool: &'static str,
    /// Further sections.
    pub more: String,
    /// Base URL of a service.
    pub server: Option<String>,
    /// Whether the library lies where the configuration says.
    pub has_library: bool,
    /// State directory; one beside the configuration by default.
    pub state: Option<PathBuf>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            sample: "gauges_ms = 250\nprocesses_ms = 250\nwindow_ms = 1000\ncall_deadline_ms = 2000",
            spool: "",
            more: String::new(),
            server: None,
            has_library: true,
            state: None,
        }
    }
}

/// A node with its collector.
pub struct Rig {
    dir: tempfile::TempDir,
    files: NodeFiles,
    state: PathBuf,
    port: u16,
    t0_us: u128,
    child: Option<Child>,
}

impl Rig {
    /// Writes the node's files; t = 0 of the scenario is now.
    pub fn new(scenario: &Scenario, setup: Setup) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let files = NodeFiles::write(dir.path(), scenario).expect("the scenario is sound");
        let state = setup.state.clone().unwrap_or_else(|| dir.path().join("state"));
        let port = harness::probe::free_port().expect("a port");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
        let rig = Self { dir, files, state, port, t0_us: now.as_micros(), child: None };
        if setup.has_library {
            rig.install_library();
        }
        rig.configure(&setup);
        rig
    }

    /// A node whose collector runs and answers.
    pub fn running(scenario: &Scenario, setup: Setup) -> Self {
        let mut rig = Self::new(scenario, setup);
        rig.start();
        rig
    }

    /// Writes the configuration anew.
    pub fn configure(&self, setup: &Setup) {
        let mut text = format!(
            "[node]\ncluster = \"lab\"\nname = \"n1\"\n[sample]\n{}\n[nvml]\nlibrary = {:?}\n[owner]\nprocfs = {:?}\n\
             [spool]\ndirectory = {:?}\n{}\n[http]\nlisten = \"127.0.0.1:{}\"\n",
            setup.sample,
            self.library(),
            self.files.procfs,
            self.state,
            setup.spool,
            self.port,
        );
        text.push_str(&setup.more);
        if let Some(url) = &setup.server {
            let credential = self.dir.path().join("credential");
            std::fs::write(&credential, "secret").expect("the folder can be written");
            let _ = write!(text, "[server]\nurl = {url:?}\ncredential_file = {credential:?}\n");
        }
        std::fs::write(self.config(), text).expect("the folder can be written");
    }

    /// Puts the library in its place, whole at once.
    pub fn install_library(&self) {
        let new = self.dir.path().join("library.new");
        std::fs::copy(built_library().expect("the library is built"), &new).expect("copied");
        std::fs::rename(&new, self.library()).expect("renamed");
    }

    /// Where the library is looked for.
    pub fn library(&self) -> PathBuf {
        self.dir.path().join("libnvidia-ml.so.1")
    }

    /// The configuration file.
    pub fn config(&self) -> PathBuf {
        self.dir.path().join("collector.toml")
    }

    /// The state directory.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// A file beside the configuration.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The ground truth, which the library writes when its last user lets go.
    pub fn truth(&self) -> PathBuf {
        self.dir.path().join("truth.json")
    }

    /// The collector's program with the node around it.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(built("slicemeter-collector").expect("the collector is built"));
        command
            .args(arguments)
            .env("FAKE_NVML_SCENARIO", &self.files.scenario)
            .env("FAKE_NVML_PROCFS", &self.files.procfs)
            .env("FAKE_NVML_T0_US", self.t0_us.to_string())
            .stdin(Stdio::null());
        command
    }

    /// Runs a subcommand with this node's configuration to its end.
    pub fn cli(&self, arguments: &[&str]) -> Output {
        let config = self.config();
        let mut all = arguments.to_vec();
        all.extend(["--config", config.to_str().expect("a path in UTF-8")]);
        self.command(&all).output().expect("the collector starts")
    }

    /// Starts the collector and waits until it is alive.
    pub fn start(&mut self) {
        let log = std::fs::File::options().create(true).append(true).open(self.file("log")).expect("a log");
        let config = self.config();
        let mut command = self.command(&["run", "--config", config.to_str().expect("a path in UTF-8")]);
        command.env("FAKE_NVML_TRUTH", self.truth());
        let child = command.stdout(log.try_clone().expect("a log")).stderr(log).spawn();
        self.child = Some(child.expect("the collector starts"));
        self.until("alive", |rig| rig.get("/healthz").filter(|answer| answer.status == 200));
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// What it logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.file("log")).unwrap_or_default()
    }

    /// Stops it politely.
    pub fn stop(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("it runs");
        terminate(&mut child).expect("it can be waited for");
        child.wait().expect("it has ended")
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        let mut child = self.child.take().expect("it runs");
        child.kill().expect("it can be killed");
        child.wait().expect("it has ended");
    }

    /// Asks an endpoint, preferring OpenMetrics as Prometheus does; `None` where nobody answers.
    pub fn get(&self, path: &str) -> Option<Answer> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        let accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
        write!(stream, "GET {path} HTTP/1.1\r\nHost: n1\r\nAccept: {accept}\r\nConnection: close\r\n\r\n")
            .ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split_whitespace().nth(1)?.parse().ok()?;
        Some(Answer { status, head: head.to_lowercase(), body: body.to_owned() })
    }

    /// The `/metrics` page.
    pub fn metrics(&self) -> Page {
        let answer = self.get("/metrics").expect("/metrics answers");
        assert_eq!(answer.status, 200);
        Page(answer.body)
    }

    /// Waits until `/readyz` says ready.
    pub fn until_ready(&self) {
        self.until("ready", |rig| rig.get("/readyz").filter(|answer| answer.status == 200));
    }

    /// Waits until `/readyz` says something.
    pub fn until_unready(&self, text: &str) {
        self.until(text, |rig| {
            rig.get("/readyz").filter(|answer| answer.status == 503 && answer.body.contains(text))
        });
    }

    /// Waits until `/metrics` has a sample of at least this value.
    pub fn until_at_least(&self, name: &str, labels: &[&str], least: f64) -> f64 {
        self.until(name, |rig| rig.metrics().sample(name, labels).filter(|value| *value >= least))
    }

    /// Asks again until there is an answer, for at most 40 seconds.
    pub fn until<T>(&self, what: &str, ask: impl Fn(&Self) -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(40);
        loop {
            if let Some(answer) = ask(self) {
                return answer;
            }
            let readyz = || self.get("/readyz").map(|answer| answer.body);
            assert!(
                Instant::now() < deadline,
                "{what}: not within 40 s; {:?}; log:\n{}",
                readyz(),
                self.log()
            );
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// What waits in the spool, oldest first.
    pub fn spooled(&self) -> Vec<Batch> {
        let settings = config::Spool { directory: self.state.clone(), ..config::Spool::default() };
        let mut spool = Spool::open(&settings).expect("the spool opens");
        let chunk = spool.read(usize::MAX);
        assert_eq!(spool.stats().damaged_segments, 0);
        chunk.batches.iter().map(|bytes| Batch::decode(&bytes[..]).expect("a batch")).collect()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // A test that failed half-way leaves nothing behind.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// An HTTP answer.
pub struct Answer {
    /// Status.
    pub status: u16,
    /// Status line and headers in lower case.
    pub head: String,
    /// Body.
    pub body: String,
}

/// A page of metrics.
pub struct Page(pub String);

impl Page {
    /// The lines of a metric whose labels hold all of these texts.
    pub fn lines<'a>(&'a self, name: &'a str, labels: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
        self.0
            .lines()
            .filter(move |line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{')))
            .filter(move |line| labels.iter().all(|label| line.contains(label)))
    }

    /// Value of the first of them.
    pub fn sample(&self, name: &str, labels: &[&str]) -> Option<f64> {
        self.lines(name, labels).next()?.rsplit_once(' ')?.1.parse().ok()
    }
}

/// UUID that the simulated library gives a GPU of node `n1`: the scenario names it, so that tests can too.
pub fn uuid(index: usize) -> String {
    format!("GPU-00000000-0000-4000-8000-00000000000{index}")
}

/// A node of whole GPUs of this preset.
pub fn node(preset: &str, gpus: usize) -> Scenario {
    let mut scenario = Scenario::new("n1");
    for index in 0..gpus {
        let mut gpu = nvidia_ml::scenario::Gpu::new(preset);
        gpu.uuid = Some(uuid(index));
        scenario.gpus.push(gpu);
    }
    scenario
}

/// Gaps of a device with this reason: how often and for how many milliseconds.
pub fn gaps(batches: &[Batch], uuid: &str, reason: schema::wire::Reason) -> (usize, i64) {
    let of = |batch: &Batch| -> Vec<i64> {
        let is = |gap: &&schema::wire::Gap| {
            gap.reason == reason as i32
                && gap.device.is_some_and(|at| batch.devices[at as usize].uuid == uuid)
        };
        batch.gaps.iter().filter(is).map(|gap| gap.end_ms - gap.start_ms).collect()
    };
    let all: Vec<i64> = batches.iter().flat_map(of).collect();
    (all.len(), all.iter().sum())
}

//! A command of somebody else's, run with a deadline and a limit on what it may print. A daemon behind it that hangs
//! costs the asking thread the deadline and nobody else anything.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Why a command gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It can't be started.
    #[error("{program} can't be started")]
    Start {
        /// Which.
        program: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It didn't finish in time and was killed.
    #[error("{program} didn't answer within {ms} ms")]
    Deadline {
        /// Which.
        program: String,
        /// The deadline.
        ms: u128,
    },
    /// It printed more than is taken.
    #[error("{program} printed more than {bytes} bytes")]
    TooLong {
        /// Which.
        program: String,
        /// The limit.
        bytes: u64,
    },
    /// It failed.
    #[error("{program} failed: {message}")]
    Failed {
        /// Which.
        program: String,
        /// What it said.
        message: String,
    },
}

/// What of an error message is kept.
const MESSAGE_BYTES_MAX: u64 = 2_000;

/// A command and its limits.
pub struct Call {
    /// Path, or a name to be found in `PATH`.
    pub program: OsString,
    /// Arguments.
    pub arguments: Vec<OsString>,
    /// What it reads from its input.
    pub input: Vec<u8>,
    /// Added to the environment.
    pub environment: Vec<(OsString, OsString)>,
    /// When it is killed.
    pub deadline: Duration,
    /// Bytes of output that are taken.
    pub bytes_max: u64,
}

impl Call {
    /// Runs it; both of its outputs, one after the other. Errors count only where it says that it failed.
    ///
    /// # Errors
    /// It can't be started, fails, prints too much or is late.
    pub fn run(&self) -> Result<(Vec<u8>, Vec<u8>), CommandError> {
        let program = self.program.to_string_lossy().into_owned();
        let start = |source| CommandError::Start { program: program.clone(), source };
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .envs(self.environment.iter().cloned())
            .stdin(if self.input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(start)?;
        if let Some(mut pipe) = child.stdin.take() {
            // A few bytes, which a pipe holds even where nobody reads: one that ended has no use for them.
            let _ = pipe.write_all(&self.input);
        }
        let out = child.stdout.take().expect("the output is piped");
        let err = child.stderr.take().expect("the error output is piped");
        // Read in threads of their own: a pipe that is full would stop the child, and a read has no deadline.
        let (out, err) =
            (reader(out, self.bytes_max + 1), reader(err, self.bytes_max.max(MESSAGE_BYTES_MAX)));
        let printed = out.recv_timeout(self.deadline);
        if printed.as_ref().map_or(true, |bytes| bytes.len() as u64 > self.bytes_max) {
            kill_group(child.id());
        }
        let status = child.wait().map_err(start)?;
        let printed = printed.map_err(|_| CommandError::Deadline {
            program: program.clone(),
            ms: self.deadline.as_millis(),
        })?;
        if printed.len() as u64 > self.bytes_max {
            return Err(CommandError::TooLong { program, bytes: self.bytes_max });
        }
        // The child is gone: what it wrote is in the pipe already.
        let complaint = err.recv_timeout(self.deadline).unwrap_or_default();
        if !status.success() {
            let kept = &complaint[..complaint.len().min(MESSAGE_BYTES_MAX as usize)];
            let message = format!("{status}: {}", String::from_utf8_lossy(kept).trim());
            return Err(CommandError::Failed { program, message });
        }
        Ok((printed, complaint))
    }
}

fn reader(pipe: impl Read + Send + 'static, bytes_max: u64) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut pipe = pipe.take(bytes_max);
        // A pipe that breaks ends the output; the child's status says whether that was an error.
        let _ = pipe.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

/// Ends the child and whatever it started: it leads a process group of its own.
fn kill_group(pid: u32) {
    if let Some(group) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, deadline_ms: u64, bytes_max: u64) -> Result<(Vec<u8>, Vec<u8>), CommandError> {
        let arguments = vec!["-c".into(), script.into()];
        let deadline = Duration::from_millis(deadline_ms);
        Call {
            program: "sh".into(),
            arguments,
            input: b"heard\n".to_vec(),
            environment: vec![("WORD".into(), "said".into())],
            deadline,
            bytes_max,
        }
        .run()
    }

    #[test]
    fn an_answer_comes_with_what_was_said_beside_it() {
        let (out, err) = shell("read line; echo $WORD and $line; echo aside >&2", 10_000, 100).expect("runs");
        assert_eq!((out.as_slice(), err.as_slice()), (&b"said and heard\n"[..], &b"aside\n"[..]));
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_what_it_started() {
        let begun = std::time::Instant::now();
        let late = shell("sleep 60 & sleep 60", 200, 100);
        assert!(matches!(late, Err(CommandError::Deadline { ms: 200, .. })), "{late:?}");
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn failures_say_why() {
        let failed = shell("echo no controller >&2; exit 3", 10_000, 100).expect_err("fails").to_string();
        assert!(failed.contains("no controller") && failed.contains('3'), "{failed}");
        assert!(matches!(
            shell("yes | head -c 5000", 10_000, 100),
            Err(CommandError::TooLong { bytes: 100, .. })
        ));
        let call = Call {
            program: "/nowhere/squeue".into(),
            arguments: Vec::new(),
            input: Vec::new(),
            environment: Vec::new(),
            deadline: Duration::from_secs(1),
            bytes_max: 1,
        };
        assert!(matches!(call.run(), Err(CommandError::Start { .. })));
    }
}

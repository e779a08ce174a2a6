//! Which daemons may know a container, and when each may be asked again.

use super::Settings;
use super::register::Asked;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A daemon's socket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Socket {
    /// Where it is.
    pub path: PathBuf,
    /// The user who must be listening, for a user's own daemon.
    pub uid: Option<u32>,
}

/// The daemons that may know a container: a user's own for a user's, else those that run as root.
pub fn sockets(settings: &Settings, asked: &Asked) -> Vec<Socket> {
    match (asked.uid, &settings.user_runtime) {
        (None, _) => settings.sockets.iter().map(|path| Socket { path: path.clone(), uid: None }).collect(),
        (Some(_), None) => Vec::new(),
        (Some(uid), Some(folder)) => {
            let of_user = |name: &str| Socket { path: folder.join(format!("{uid}/{name}")), uid: Some(uid) };
            vec![of_user("podman/podman.sock"), of_user("docker.sock")]
        }
    }
}

/// First and longest pause after a failure.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));

/// Pauses by socket: one that fails is left alone for longer each time, and the others aren't.
#[derive(Debug, Default)]
pub struct Pauses(BTreeMap<Socket, (Duration, Instant)>);

impl Pauses {
    /// Whether it may be asked at this instant.
    pub fn is_due(&self, socket: &Socket, now: Instant) -> bool {
        self.0.get(socket).is_none_or(|(_, until)| now >= *until)
    }

    /// It failed.
    pub fn failed(&mut self, socket: &Socket, now: Instant) {
        let pause = self.0.get(socket).map_or(PAUSE.0, |(pause, _)| (*pause * 2).min(PAUSE.1));
        self.0.insert(socket.clone(), (pause, now + pause));
    }

    /// It answered.
    pub fn answered(&mut self, socket: &Socket) {
        self.0.remove(socket);
    }

    /// Forgets sockets that aren't wanted any more.
    pub fn keep_only(&mut self, wanted: impl Fn(&Socket) -> bool) {
        self.0.retain(|socket, _| wanted(socket));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_container_is_asked_of_the_users_daemons_only() {
        let settings = Settings {
            sockets: vec!["/var/run/docker.sock".into()],
            user_runtime: Some("/run/user".into()),
            labels: Vec::new(),
            deadline: Duration::from_secs(1),
            wait_ms: 1000,
            aliases: false,
        };
        let paths = |settings: &Settings, uid| -> Vec<String> {
            let asked = Asked { id: "a".repeat(64), uid };
            sockets(settings, &asked).iter().map(|socket| socket.path.display().to_string()).collect()
        };
        assert_eq!(paths(&settings, None), ["/var/run/docker.sock"]);
        assert_eq!(
            paths(&settings, Some(1000)),
            ["/run/user/1000/podman/podman.sock", "/run/user/1000/docker.sock"]
        );
        assert!(paths(&Settings { user_runtime: None, ..settings }, Some(1000)).is_empty());
    }

    #[test]
    fn a_socket_that_fails_is_left_alone_for_longer_each_time() {
        let socket = Socket { path: "/s".into(), uid: None };
        let (mut pauses, start) = (Pauses::default(), Instant::now());
        pauses.failed(&socket, start);
        assert!(!pauses.is_due(&socket, start) && pauses.is_due(&socket, start + PAUSE.0));
        pauses.failed(&socket, start);
        assert!(!pauses.is_due(&socket, start + PAUSE.0) && pauses.is_due(&socket, start + PAUSE.0 * 2));
        (0..20).for_each(|_| pauses.failed(&socket, start));
        assert!(pauses.is_due(&socket, start + PAUSE.1));
        pauses.answered(&socket);
        assert!(pauses.is_due(&socket, start));
    }
}

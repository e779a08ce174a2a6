//! What the control daemon prints, as plain values. A line that isn't understood is left out: daemons of other versions
//! print more.

/// Clients and servers that one answer may name: Volta and newer take 48 clients a device, the newest 60.
const PIDS_MAX: usize = 4_096;

/// The PIDs of `get_server_list` and `get_client_list`: one a line.
pub fn pids(answer: &str) -> Vec<u32> {
    answer.lines().filter_map(|line| line.trim().parse().ok()).take(PIDS_MAX).collect()
}

/// `get_active_thread_percentage`: whole percent of `50.0`, never 0.
pub fn percent(answer: &str) -> Option<u32> {
    let value: f64 = answer.trim().parse().ok()?;
    // A limit of less than a percent still lets something run.
    (value > 0.0 && value <= 100.0).then(|| (value.round() as u32).max(1))
}

/// PID and device of each client by `ps`: `PID ID SERVER DEVICE NAMESPACE COMMAND`. The device is the beginning of its
/// UUID.
pub fn devices(answer: &str) -> Vec<(u32, String)> {
    let client = |line: &str| {
        let mut fields = line.split_whitespace();
        let (pid, device) = (fields.next()?.parse().ok()?, fields.nth(2)?);
        device.starts_with("GPU-").then(|| (pid, device.to_owned()))
    };
    answer.lines().filter_map(client).take(PIDS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_understood_is_taken_and_the_rest_left_out() {
        assert_eq!(pids("6472\n 6473 \nServer 7\n"), [6472, 6473]);
        assert_eq!([percent("50.0\n"), percent("12.5"), percent("0.2")], [Some(50), Some(13), Some(1)]);
        assert_eq!([percent("0"), percent("101"), percent("unknown command")], [None; 3]);
        let ps = "PID       ID    SERVER    DEVICE                    NAMESPACE      COMMAND\n\
                  9741      0     6472      GPU-cb1213a3-d6a4-be7f    4026531836     ./nbody\n\
                  9743      0     6472      none                      4026531836     ./x\n";
        assert_eq!(devices(ps), [(9741, "GPU-cb1213a3-d6a4-be7f".to_owned())]);
        assert_eq!(devices("Unrecognized command: ps\n"), []);
    }
}

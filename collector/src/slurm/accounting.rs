//! Runs that are over, from Slurm's accounting: who held devices while nobody asked, because the collector or the controller
//! wasn't there. Accounting tells how many GPUs a run had, not which.

use super::job::{self, Job};

/// What `sacct` is asked, besides node and time: allocations without steps, all runs of a requeued job, one a line.
pub const ARGUMENTS: [&str; 6] = [
    "--parsable2",
    "--noheader",
    "--allusers",
    "--allocations",
    "--duplicates",
    "--format=JobIDRaw,JobID,Account,User,UID,Partition,QOS,Submit,Start,End,Suspended,State,AllocTRES,NodeList",
];

/// The runs of an answer whose times are Unix seconds. A line that isn't understood is left out, and counted.
pub fn parse_runs(answer: &str) -> (Vec<Job>, u64) {
    let lines = answer.lines().filter(|line| !line.trim().is_empty());
    let (mut runs, mut refused) = (Vec::new(), 0);
    for line in lines {
        match run(line) {
            Some(run) => runs.push(run),
            None => refused += 1,
        }
    }
    (runs, refused)
}

fn run(line: &str) -> Option<Job> {
    let fields: Vec<&str> = line.split('|').collect();
    let [raw_id, id, account, user, uid, partition, qos, submit, start, end, suspended, state, tres, nodes] =
        fields[..]
    else {
        return None;
    };
    // `Unknown` and `None` are of what hasn't happened yet.
    let number = |text: &str| text.parse::<i64>().ok();
    let (array, task) = match id.split_once('_') {
        Some((array, task)) => (number(array), number(task)),
        None => (None, None),
    };
    let recorded = job::Recorded {
        id: number(raw_id)?,
        submit_s: number(submit)?,
        start_s: number(start),
        end_s: number(end),
        suspended_s: duration_s(suspended).unwrap_or(0),
        state,
        account,
        user,
        uid: number(uid),
        qos,
        partition,
        array,
        task,
        het: id.split_once('+').and_then(|(first, _)| number(first)),
        nodes,
        tres,
    };
    job::recorded(&recorded)
}

/// `[DD-]HH:MM:SS` in seconds.
fn duration_s(text: &str) -> Option<i64> {
    let (days, clock) = text.split_once('-').unwrap_or(("0", text));
    let mut parts = clock.rsplit(':').map(|part| part.parse::<i64>().ok());
    let (seconds, minutes, hours) =
        (parts.next()??, parts.next().unwrap_or(Some(0))?, parts.next().unwrap_or(Some(0))?);
    Some(((days.parse::<i64>().ok()? * 24 + hours) * 60 + minutes) * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::super::job::Phase;
    use super::*;

    #[test]
    fn a_run_is_who_when_and_how_many_and_the_owner_is_the_one_that_squeue_names() {
        let answer = "1003|1000_3|vision|ada|1000|gpu|normal|100|200|800|00:02:00|COMPLETED|\
                      cpu=10,gres/gpu=1,gres/gpu:a100=1|node[1-2]\n\
                      77|77|speech|eve|1001|gpu|normal|100|200|Unknown|00:00:00|RUNNING|gres/gpu=2|node1\n\
                      78|78|speech|eve|1001|gpu|normal|100|200|300|00:00:00|CANCELLED by 1000||node1\n\
                      slurm is down\n";
        let (runs, refused) = parse_runs(answer);
        assert_eq!((runs.len(), refused), (3, 1));
        let array = &runs[0];
        assert_eq!((array.id, array.submit_s, array.start_s, array.end_s), (1003, 100, Some(200), Some(680)));
        assert_eq!((array.phase, runs[1].phase, runs[2].phase), (Phase::Ended, Phase::Running, Phase::Ended));
        let squeue = r#"{"jobs": [{"job_id": 1003, "array_job_id": 1000, "array_task_id": 3, "submit_time": 100,
            "account": "vision", "user_name": "ada", "user_id": 1000, "partition": "gpu", "qos": "normal"}]}"#;
        let by_squeue = job::parse_jobs(squeue.as_bytes()).expect("jobs");
        assert_eq!(array.owner.workload(), by_squeue[0].owner.workload(), "one run, whoever tells of it");
        assert!(array.owner.evidence.starts_with("sacct: job 1003"), "{}", array.owner.evidence);
    }

    #[test]
    fn suspended_time_has_days() {
        assert_eq!(duration_s("1-02:03:04"), Some(93_784));
        assert_eq!(duration_s("10:00:00"), Some(36_000));
        assert_eq!(duration_s("02:03"), Some(123));
        assert_eq!(duration_s("?"), None);
    }
}

//! What a process's first environment claims about its job. The user can write anything there: a claim counts only
//! where the scheduler's record agrees. Which GPU it is on is never read from it: `CUDA_VISIBLE_DEVICES` counts from 0
//! within the job, or names UUIDs, and may be changed; the driver's process lists say it.

use super::job::key;
use crate::owner::environ;
use schema::owner::{Owner, key as common};

/// What an environment claims.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claim {
    /// `SLURM_JOB_ID`.
    pub job: Option<u64>,
    /// Account, partition, QOS and array ids, by the attributes that the scheduler's record has them under.
    pub said: Vec<(&'static str, String)>,
}

/// Variables besides the job's id, with the attribute of the scheduler's record that each repeats.
const VARIABLES: [(&str, &str); 5] = [
    ("SLURM_JOB_ACCOUNT", common::SLURM_ACCOUNT),
    ("SLURM_JOB_PARTITION", key::PARTITION),
    ("SLURM_JOB_QOS", key::QOS),
    ("SLURM_ARRAY_JOB_ID", key::ARRAY_JOB),
    ("SLURM_ARRAY_TASK_ID", key::ARRAY_TASK),
];

/// Bytes of a value that are kept: it is shown where it disagrees.
const VALUE_BYTES_MAX: usize = 128;

/// The claims in a `/proc/PID/environ`: entries that end in NUL.
pub fn claim(environ: &[u8]) -> Claim {
    let value = |name: &str| environ::value(environ, name);
    // SLURM_JOBID is the older spelling of the same.
    let job = value("SLURM_JOB_ID").or_else(|| value("SLURM_JOBID")).and_then(|id| id.parse().ok());
    let cut = |text: &str| text[..text.floor_char_boundary(VALUE_BYTES_MAX)].to_owned();
    let said = VARIABLES.iter().filter_map(|(name, attribute)| Some((*attribute, cut(value(name)?))));
    Claim { job, said: said.collect() }
}

impl Claim {
    /// What it says otherwise than the scheduler's record of the job, for the evidence; empty where it agrees. What
    /// only one of them says is no contradiction.
    pub fn contradictions(&self, record: &Owner) -> String {
        let mut text = String::new();
        for (attribute, claimed) in &self.said {
            if let Some(known) = record.attributes.get(*attribute).filter(|known| *known != claimed) {
                text.push_str(&format!("; its environment says {attribute}={claimed:?}, Slurm {known:?}"));
            }
        }
        text
    }

    /// What it says, for the evidence where there is no record to check it against.
    pub fn unchecked(&self) -> String {
        let said: Vec<String> =
            self.said.iter().map(|(attribute, claimed)| format!("{attribute}={claimed:?}")).collect();
        if said.is_empty() { String::new() } else { format!("; unchecked environment: {}", said.join(" ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::owner::OwnerKind;

    #[test]
    fn the_job_id_is_read_whole_and_nothing_else_is_taken_for_it() {
        let cases: [(&[u8], Option<u64>); 7] = [
            (b"PATH=/bin\0SLURM_JOB_ID=211\0CUDA_VISIBLE_DEVICES=0\0", Some(211)),
            (b"SLURM_JOB_ID=211\0CUDA_VISIBLE_DEVICES=GPU-8f0a1c2d-3e4b-5a69-7788-99aabbccddee\0", Some(211)),
            (b"SLURM_JOBID=211\0", Some(211)),
            (b"SLURM_JOB_ID_OLD=1\0XSLURM_JOB_ID=2\0", None),
            (b"SLURM_JOB_ID=211; rm -rf\0", None),
            (b"A=\xff\xfe\0SLURM_JOB_ID=7\0", Some(7)),
            (b"", None),
        ];
        for (environ, want) in cases {
            let read = claim(environ);
            assert_eq!((read.job, read.said), (want, Vec::new()));
        }
    }

    #[test]
    fn what_contradicts_the_scheduler_is_named_and_what_agrees_is_not() {
        let environ = b"SLURM_JOB_ACCOUNT=physics\0SLURM_JOB_QOS=high\0SLURM_JOB_PARTITION=gpu\0SLURM_ARRAY_TASK_ID=4\0";
        let record = [
            (common::SLURM_ACCOUNT, "vision"),
            (key::PARTITION, "gpu"),
            (key::ARRAY_JOB, "200"),
            (key::ARRAY_TASK, "4"),
        ];
        let attributes = record.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let record = Owner { kind: OwnerKind::Slurm, attributes, evidence: String::new() };
        let read = claim(environ);
        assert_eq!(
            read.contradictions(&record),
            "; its environment says slurm_account=\"physics\", Slurm \"vision\""
        );
        assert_eq!(
            read.unchecked(),
            "; unchecked environment: slurm_account=\"physics\" slurm_partition=\"gpu\" slurm_qos=\"high\" slurm_array_task=\"4\""
        );
        assert_eq!(claim(b"A=1\0").unchecked(), "");
    }
}

//! What a process's first environment claims about its job. The user can write anything there: a claim counts only
//! where the scheduler's record agrees.

/// A claimed job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claim {
    /// `SLURM_JOB_ID`.
    pub job: Option<u64>,
}

/// The claims in a `/proc/PID/environ`: entries that end in NUL.
pub fn claim(environ: &[u8]) -> Claim {
    let value = |name: &str| {
        environ.split(|byte| *byte == 0).find_map(|entry| {
            let entry = std::str::from_utf8(entry).ok()?;
            entry.strip_prefix(name)?.strip_prefix('=')
        })
    };
    // SLURM_JOBID is the older spelling of the same.
    let job = value("SLURM_JOB_ID").or_else(|| value("SLURM_JOBID")).and_then(|id| id.parse().ok());
    Claim { job }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_id_is_read_whole_and_nothing_else_is_taken_for_it() {
        let cases: [(&[u8], Option<u64>); 6] = [
            (b"PATH=/bin\0SLURM_JOB_ID=211\0CUDA_VISIBLE_DEVICES=0\0", Some(211)),
            (b"SLURM_JOBID=211\0", Some(211)),
            (b"SLURM_JOB_ID_OLD=1\0XSLURM_JOB_ID=2\0", None),
            (b"SLURM_JOB_ID=211; rm -rf\0", None),
            (b"A=\xff\xfe\0SLURM_JOB_ID=7\0", Some(7)),
            (b"", None),
        ];
        for (environ, want) in cases {
            assert_eq!(claim(environ).job, want);
        }
    }
}

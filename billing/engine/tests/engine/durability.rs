//! What the engine promises about memory and about what it has acknowledged.

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{MEMORY_BYTES, TestEngine};

#[tokio::test]
async fn the_cap_on_memory_and_the_durable_settings_hold() {
    let engine = TestEngine::start().await;
    let cap = engine
        .number("SELECT toUInt64(value) FROM system.server_settings WHERE name = 'max_server_memory_usage'")
        .await;
    assert_eq!(cap, MEMORY_BYTES);
    let too_much =
        engine.post("max_memory_usage=0", b"SELECT length(groupArray(number)) FROM numbers(400000000)");
    assert_eq!(too_much.code(), Some(241), "{}", too_much.text());
    for (name, value) in [
        ("fsync_after_insert", 1),
        ("fsync_part_directory", 1),
        ("min_rows_to_fsync_after_merge", 1),
        ("old_parts_lifetime", 480),
    ] {
        let sql = format!("SELECT toUInt64(value) FROM system.merge_tree_settings WHERE name = '{name}'");
        assert_eq!(engine.number(&sql).await, value, "{name}");
    }
}

#[tokio::test]
async fn a_killed_engine_comes_back_with_every_acknowledged_insert() {
    const BATCHES: u64 = 20;
    let engine = TestEngine::start().await;
    engine.run("CREATE DATABASE d").await;
    for table in ["d.t", "default.t"] {
        engine
            .run(&format!(
                "CREATE TABLE {table} (batch UInt64, n UInt64) ENGINE = MergeTree ORDER BY (batch, n)"
            ))
            .await;
        for batch in 0..BATCHES {
            engine.run(&format!("INSERT INTO {table} SELECT {batch}, number FROM numbers(1000)")).await;
        }
    }
    let before = engine.supervisor.endpoint();
    let client = engine.client();
    // One more is in flight when the engine dies.
    let in_flight = tokio::spawn(async move {
        client.query("INSERT INTO d.t SELECT 1000, number FROM numbers(3000000)").execute().await
    });
    while engine
        .number("SELECT count() FROM system.processes WHERE query LIKE 'INSERT INTO d.t SELECT 1000%'")
        .await
        == 0
        && !in_flight.is_finished()
    {
        tokio::task::yield_now().await;
    }
    let pid = Pid::from_raw(i32::try_from(before.pid).expect("a process id")).expect("not zero");
    kill_process(pid, Signal::KILL).expect("it ran");
    let unacknowledged = in_flight.await.expect("joined").is_err();
    engine.supervisor.restarted(1).await;

    let after = engine.supervisor.endpoint();
    assert_eq!((after.url, after.secret), (before.url, before.secret), "clients find it where it was");
    assert_ne!(after.pid, before.pid);
    for table in ["d.t", "default.t"] {
        let sql = format!(
            "SELECT count() FROM (SELECT batch FROM {table} WHERE batch < 1000 GROUP BY batch HAVING count() = 1000 AND sum(n) = 499500)"
        );
        assert_eq!(engine.number(&sql).await, BATCHES, "{table}");
    }
    if !unacknowledged {
        assert_eq!(engine.number("SELECT count() FROM d.t WHERE batch = 1000").await, 3_000_000);
    }
}

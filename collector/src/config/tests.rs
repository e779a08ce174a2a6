//! The example parses, and what is wrong is refused with the file, the key and the remedy.

use super::*;

#[test]
fn the_example_holds_every_default() {
    let config = Config::parse(include_str!("../../collector.example.toml"), "collector.example.toml")
        .expect("parses");
    assert_eq!(config.sample.cadence(), Sample::default().cadence());
    assert_eq!(config.spool.bytes_max, Spool::default().bytes_max);
    assert_eq!(config.kubernetes, KubernetesConfig::default());
    assert_eq!(config.owner, Owner::default());
    assert_eq!(config.http.listen, Http::default().listen);
    assert_eq!(config.warnings(), Vec::<String>::new());
}

#[test]
fn the_sections_that_are_commented_out_hold_every_default_too() {
    let example = include_str!("../../collector.example.toml");
    let (_, section) = example.split_once("# [containers]\n").expect("the section");
    let section: String =
        section.lines().filter_map(|line| line.strip_prefix("# ")).map(|line| format!("{line}\n")).collect();
    let read: Containers = toml::from_str(&section).expect("parses");
    let labels = vec!["team".to_owned(), "com.docker.compose.project".to_owned()];
    assert_eq!(read, Containers { labels, ..Containers::default() });
    assert_eq!(read.problem(), None);
}

#[test]
fn a_nodes_name_is_never_that_of_the_collectors_pod() {
    let named =
        |text: &str| Config::parse(&format!("[node]\ncluster = \"c\"\n{text}"), "c.toml").expect("parses");
    let pod = |name: &str| match name {
        "NODE_NAME" => Some("node7".to_owned()),
        "KUBERNETES_SERVICE_HOST" => Some("10.0.0.1".to_owned()),
        _ => None,
    };
    let bare = |name: &str| pod(name).filter(|_| name != "NODE_NAME");
    let plain = |name: &str| pod(name).filter(|_| name == "NODE_NAME");
    let unnamed = named("");
    assert_eq!(named("name = \"gpu1\"\n").told_name(pod).as_deref(), Some("gpu1"));
    assert_eq!(unnamed.told_name(pod).as_deref(), Some("node7"));
    assert_eq!(unnamed.pod_warning(pod), None);
    assert!(unnamed.pod_warning(bare).expect("a warning").contains("spec.nodeName"));
    let off = named("[kubernetes]\nenabled = \"off\"\n");
    assert_eq!(
        (off.told_name(plain), off.pod_warning(plain)),
        (None, None),
        "outside a pod it is the host's"
    );
}

#[test]
fn errors_name_file_key_and_remedy() {
    let cases = [
        ("[node]\ncluster = \"c\"\ncolour = 1\n", "colour"),
        ("[node]\n", "cluster"),
        (
            "[node]\ncluster = \"c\"\n[sample]\nwindow_ms = 7000\n",
            "sample.window_ms: 7000 doesn't divide 15 minutes",
        ),
        ("[node]\ncluster = \"c\"\n[sample]\nprocesses_ms = 7000\n", "sample.processes_ms"),
        ("[node]\ncluster = \"c\"\n[server]\nurl = \"example.org\"\n", "server.url"),
        ("[node]\ncluster = \"c\"\n[kubernetes]\npoll_seconds = 0\n", "kubernetes.poll_seconds"),
        ("[node]\ncluster = \"c\"\n[containers]\nsockets = []\nrootless = false\n", "containers.sockets"),
        ("[node]\ncluster = \"c\"\n[containers]\nsockets = [\"tcp://x\"]\n", "containers.sockets"),
        ("[node]\ncluster = \"c\"\n[containers]\ndeadline_ms = 60000\n", "containers.deadline_ms"),
        ("[node]\ncluster = \"c\"\n[containers]\nlabels = [\"\"]\n", "containers.labels"),
        ("[node]\ncluster = \"c\"\n[spool]\nbytes_max = 1\n", "spool.segment_bytes_max"),
    ];
    for (text, want) in cases {
        let error = Config::parse(text, "c.toml").expect_err(text).to_string();
        assert!(error.contains(want) && error.starts_with("c.toml: ") && error.contains("; "), "{error}");
    }
}

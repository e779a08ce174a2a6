//! The library exports every name that NVML has, and copies of it are nodes of their own.
#![allow(unsafe_code, reason = "symbols are looked up and called by name")]

use std::collections::BTreeSet;
use std::process::Command;

use nvidia_ml::names::NAMES;
use nvidia_ml::scenario::{Gpu, Scenario};
use nvml_wrapper::error::NvmlError;

use crate::node::{Node, built};

#[test]
fn every_name_is_exported() {
    // SAFETY: loading it runs no code that expects anything.
    let library = unsafe { libloading::Library::new(built()) }.expect("cargo built it");
    for name in NAMES {
        // SAFETY: the symbol is only looked up.
        let symbol = unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes()) };
        assert!(symbol.is_ok(), "{name} is missing");
    }
}

/// `names.txt` is committed so that the build needs no other crate's sources; this is what keeps it true.
#[test]
fn the_list_of_names_has_every_name_of_the_bindings() {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--filter-platform"])
        .arg(format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).expect("metadata is JSON");
    let packages = metadata["packages"].as_array().expect("metadata lists packages");
    let bindings =
        packages.iter().find(|package| package["name"] == "nvml-wrapper-sys").expect("a dependency");
    let manifest = bindings["manifest_path"].as_str().expect("a path");
    let source = std::path::Path::new(manifest).with_file_name("src/bindings.rs");
    let source = std::fs::read_to_string(source).expect("the crate has its bindings");
    let wanted: BTreeSet<&str> = source
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("pub unsafe fn "))
        .filter_map(|rest| rest.split('(').next())
        .filter(|name| name.starts_with("nvml"))
        .collect();
    assert!(wanted.len() > 390, "the bindings list {} functions", wanted.len());
    let missing: Vec<&&str> = wanted.iter().filter(|name| NAMES.binary_search(name).is_err()).collect();
    assert!(missing.is_empty(), "names.txt lacks {missing:?}");
}

#[test]
fn a_function_without_an_implementation_is_not_supported() {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(Gpu::new("h100"));
    let node = Node::new(scenario);
    assert!(matches!(node.gpu(0).fan_speed(0), Err(NvmlError::NotSupported)));
    assert_eq!(node.calls("nvmlDeviceGetFanSpeed_v2"), 1);
}

#[test]
fn two_copies_in_one_process_are_two_nodes() {
    let mut one = Scenario::new("one");
    one.gpus.push(Gpu::new("h100"));
    let mut two = Scenario::new("two");
    two.gpus.extend([Gpu::new("t4"), Gpu::new("t4")]);
    let (one, two) = (Node::new(one), Node::new(two));
    assert_eq!((one.nvml.device_count().unwrap(), two.nvml.device_count().unwrap()), (1, 2));
    assert_ne!(one.gpu(0).uuid().unwrap(), two.gpu(0).uuid().unwrap());
    one.at(100.0);
    two.at(7.0);
    assert_eq!(one.gpu(0).name().unwrap(), "NVIDIA H100 80GB HBM3");
    assert_eq!(two.gpu(1).name().unwrap(), "Tesla T4");
    let energy = |node: &Node| node.gpu(0).total_energy_consumption().unwrap();
    assert_eq!(energy(&one), 69_850 * (86_400 + 100));
    assert_eq!(energy(&two), 9_000 * (86_400 + 7));
}

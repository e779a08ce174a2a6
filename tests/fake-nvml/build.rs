//! Makes the table of NVML's names: a stub for each that `src/imp` doesn't implement, so that the library exports all of
//! them, and a check by type of each that it does.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnvidia-ml.so.1");
    println!("cargo:rerun-if-changed=names.txt");
    println!("cargo:rerun-if-changed=src/imp");

    let names = fs::read_to_string("names.txt").expect("names.txt lies beside build.rs");
    let names: Vec<(&str, &str)> =
        names.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' ')).collect();
    let implemented = implemented(Path::new("src/imp"));
    for name in &implemented {
        assert!(names.iter().any(|(known, _)| known == name), "src/imp has {name}, which names.txt lacks");
    }

    let mut table = format!("/// How many names there are.\npub const COUNT: usize = {};\n", names.len());
    table.push_str("/// Every name, sorted.\npub static NAMES: [&str; COUNT] = [\n");
    for (name, _) in &names {
        writeln!(table, "    {name:?},").expect("writing to a string can't fail");
    }
    table.push_str("];\n/// Each name's index.\n#[allow(non_upper_case_globals, reason = \"they are NVML's names\")]\npub(crate) mod id {\n");
    for (index, (name, _)) in names.iter().enumerate() {
        writeln!(table, "    pub const {name}: usize = {index};").expect("writing to a string can't fail");
    }
    table.push_str("}\n");

    let mut stubs = String::new();
    for (name, _) in names.iter().filter(|(name, _)| !implemented.contains(*name)) {
        writeln!(
            stubs,
            "// SAFETY: the name is one that NVML exports, so no other library of the process needs it.\n\
             #[unsafe(no_mangle)]\npub extern \"C\" fn {name}() -> u32 {{ crate::call::unsupported(crate::names::id::{name}) }}"
        )
        .expect("writing to a string can't fail");
    }

    let mut check = String::from("pub fn check(lib: &mut nvml_wrapper_sys::bindings::NvmlLib) {\n");
    for (name, known_from) in &names {
        if *known_from == "sys" && implemented.contains(*name) {
            writeln!(check, "    lib.{name} = Ok({name});").expect("writing to a string can't fail");
        }
    }
    check.push_str("}\n");

    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for (file, text) in [("names.rs", table), ("stubs.rs", stubs), ("check.rs", check)] {
        fs::write(out.join(file), text).expect("OUT_DIR can be written");
    }
}

/// Names of the functions that the files under `dir` implement.
fn implemented(dir: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(dir).expect("src/imp lies beside build.rs") {
        let path = entry.expect("src/imp can be listed").path();
        let text = fs::read_to_string(&path).expect("src/imp holds source files");
        for line in text.lines() {
            let Some(rest) = line.trim_start().split("fn nvml").nth(1) else { continue };
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            names.insert(format!("nvml{name}"));
        }
    }
    names
}

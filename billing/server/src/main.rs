//! `slicemeter`: the central service and its command line.

fn main() -> std::process::ExitCode {
    server::cli::main()
}

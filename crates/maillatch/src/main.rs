//! The binary; see the crate's library for the way through it.

fn main() -> std::process::ExitCode {
    maillatch::main()
}

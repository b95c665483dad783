//! The binary. Start reading in the crate's library.

fn main() -> std::process::ExitCode {
    maillatch::main()
}

//! The first process of the virtual machines in which scenarios run: [`narrows_live::vm::agent`].

fn main() {
    #[cfg(target_os = "linux")]
    narrows_live::vm::agent::main();
}

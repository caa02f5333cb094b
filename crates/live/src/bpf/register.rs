//! Making a congestion control available to sockets: parameters in, a registered name out.

use super::object::Loaded;
use super::programs::program;
use crate::LiveError;
use libbpf_rs::Link;
use narrows_cc::Params;
use std::sync::atomic::{AtomicU32, Ordering};

/// Largest length of a name in bytes: Linux's TCP_CA_NAME_MAX of 16 (`include/net/tcp.h`) minus the zero byte.
pub(crate) const NAME_MAX: usize = 15;

/// A congestion control that sockets can choose by name until this is dropped.
///
/// A connection that uses it then keeps it: the kernel keeps the programs until the connection closes.
#[derive(Debug)]
pub struct Registered {
    name: String,
    link: Link,
    loaded: Loaded,
}

impl Registered {
    /// The name for `TCP_CONGESTION`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The object, for its maps.
    #[must_use]
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// The kernel's link, to be pinned.
    pub(crate) fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

/// Registers the congestion control `name` with `params` under the name `registered`.
///
/// # Errors
/// [`LiveError::Unsupported`] if no eBPF program has that name, [`LiveError::Unavailable`] if the machine cannot do it
/// or the name is taken.
pub fn register(name: &str, registered: &str, params: &Params) -> Result<Registered, LiveError> {
    let program = program(name)?;
    let mut opened = program.open(params)?;
    opened.set_registered_name(program.ops, registered)?;
    let mut loaded = opened.load()?;
    let link = loaded.attach_struct_ops(program.ops)?;
    Ok(Registered { name: registered.to_owned(), link, loaded })
}

/// Makes a name for a congestion control that is unique to this process: the beginning of `name`, the process and a
/// running number, within 15 bytes. Concurrent live runs share one kernel, and so one list of names.
#[must_use]
pub fn unique_name(name: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed) % (36 * 36);
    let tail = format!("_{}{:0>2}", base36(std::process::id()), base36(number));
    let head: String = name.chars().filter(char::is_ascii).take(NAME_MAX - tail.len()).collect();
    format!("{head}{tail}")
}

/// Formats a number in base 36. Process numbers of Linux, below 2^22, take five digits.
fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = (number % 36) as u8;
        digits.push(if digit < 10 { b'0' + digit } else { b'a' + digit - 10 });
        number /= 36;
        if number == 0 {
            break;
        }
    }
    digits.iter().rev().map(|digit| char::from(*digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unique_name_is_unique_and_short_enough() {
        let names: Vec<String> = (0..100).map(|_| unique_name("a_long_algorithm")).collect();
        for (i, name) in names.iter().enumerate() {
            assert!(name.len() <= NAME_MAX, "{name}");
            assert!(name.starts_with("a_long"), "{name}");
            assert!(!names[..i].contains(name), "{name}");
        }
    }

    #[test]
    fn numbers_in_36_digits() {
        assert_eq!(base36(0), "0");
        assert_eq!(base36(35), "z");
        assert_eq!(base36(36), "10");
        assert_eq!(base36((1 << 22) - 1).len(), 5);
    }
}

//! A scheme's eBPF programs compiled with the machine's own C compiler and called from here: bpf/native/NAME.c.

#![allow(dead_code, reason = "each test uses its part")]

use std::ffi::CString;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

#[path = "../skips/mod.rs"]
mod skips;

/// A compiled program with state of its own.
pub struct Native {
    handle: *mut libc::c_void,
}

impl Native {
    /// Compiles `bpf/native/NAME.c` and loads it; returns `None`, with the reason printed, without a C compiler.
    ///
    /// `test` is a word that no other test uses: two tests that load one path would share one program and its state.
    pub fn build(name: &str, test: &str) -> Option<Self> {
        let bpf = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
        let output = std::env::temp_dir().join(format!("narrows-native-{}-{test}.so", std::process::id()));
        let mut compile = Command::new("cc");
        compile.current_dir(&bpf).args(["-O1", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]);
        compile.args(["-shared", "-fPIC", "-I.", "-o"]).arg(&output).arg(format!("native/{name}.c"));
        let Ok(done) = compile.output() else {
            skips::skip("no C compiler (cc)");
            return None;
        };
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let path = CString::new(output.to_str().unwrap()).unwrap();
        // SAFETY: the path is a C string; the library has no constructors.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        std::fs::remove_file(&output).unwrap();
        assert!(!handle.is_null(), "dlopen failed");
        let native = Self { handle };
        native.reset();
        Some(native)
    }

    /// Returns the function `name`; `F` is its type.
    pub fn function<F: Copy>(&self, name: &str) -> F {
        assert_eq!(size_of::<F>(), size_of::<*mut libc::c_void>());
        let symbol = CString::new(name).unwrap();
        // SAFETY: the handle is open and the name a C string.
        let found = unsafe { libc::dlsym(self.handle, symbol.as_ptr()) };
        assert!(!found.is_null(), "{name} is missing");
        // SAFETY: a pointer to a function of the type that the C file gives it; the sizes are equal.
        unsafe { std::mem::transmute_copy(&found) }
    }

    /// Clears the program's state; parameters stay.
    pub fn reset(&self) {
        let reset: extern "C" fn() = self.function("narrows_reset");
        reset();
    }

    /// Sets a parameter.
    pub fn set(&self, name: &str, value: u64) {
        let set: extern "C" fn(*const libc::c_char, u64) -> libc::c_int = self.function("narrows_set");
        let c_name = CString::new(name).unwrap();
        assert_eq!(set(c_name.as_ptr(), value), 1, "no parameter {name}");
    }

    /// Returns an arriving packet as the program changes it.
    pub fn arrive(&self, packet: &[u8]) -> Vec<u8> {
        self.show("narrows_ingress", packet, 1)
    }

    /// Returns an outgoing packet as the program changes it.
    pub fn leave(&self, packet: &[u8]) -> Vec<u8> {
        self.show("narrows_egress", packet, 1)
    }

    fn show(&self, program: &str, packet: &[u8], segments: u32) -> Vec<u8> {
        let run: extern "C" fn(*mut u8, u32, u32) -> libc::c_int = self.function(program);
        let left: extern "C" fn() -> u32 = self.function("narrows_left");
        let mut bytes = packet.to_vec();
        // A program may make a packet longer.
        bytes.resize(packet.len() + 64, 0);
        // Every packet passes: TCX_NEXT.
        assert_eq!(run(bytes.as_mut_ptr(), packet.len() as u32, segments), -1);
        bytes.truncate(left() as usize);
        bytes
    }

    /// Returns the `N` counters of the connection from `local` to `remote`; `None` if the program does not know it.
    pub fn counters<const N: usize>(&self, local: (IpAddr, u16), remote: (IpAddr, u16)) -> Option<[u64; N]> {
        let read: extern "C" fn(*const u8, *mut u64) -> libc::c_int = self.function("narrows_counters");
        let mut key = Vec::new();
        for address in [local.0, remote.0] {
            key.extend_from_slice(&match address {
                IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                IpAddr::V6(address) => address.octets(),
            });
        }
        key.extend_from_slice(&local.1.to_be_bytes());
        key.extend_from_slice(&remote.1.to_be_bytes());
        let mut out = [0; N];
        (read(key.as_ptr(), out.as_mut_ptr()) != 0).then_some(out)
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and nothing of it is used from here on.
        unsafe { libc::dlclose(self.handle) };
    }
}

/// Random numbers that are the same in every run (SplitMix64).
pub struct Dice(pub u64);

impl Dice {
    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

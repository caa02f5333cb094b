#!/usr/bin/env python3
"""Records what Linux's queue disciplines decide about given arrivals.

`python3 tools/kernel_qdiscs/run.py` writes crates/queue/tests/vectors/kernel_qdiscs.txt. It needs no root, but Debian's
packages qemu-system-x86, busybox-static, iproute2, gcc-12, make and binutils, and 1 GB in the directory `--work`. It
fetches the kernel's packages by `apt-get download`, and one of the next distribution for `dualpi2`, which no kernel of
Debian has compiled in.

The guest runs Debian's kernel and qdisc modules. Their imports of clock, timers and random numbers are renamed to
functions of replay.c, so that each decision is taken at an exact virtual time. `fq_codel` is built into Debian's
kernel; the guest uses a module that is built from the same package's source.
"""

import argparse
import gzip
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

Table = dict[str, Any]

HERE = Path(__file__).resolve().parent
ORACLE = HERE.parents[1] / "crates/queue/tests/vectors/kernel_qdiscs.txt"
KERNEL = "6.1.0-56"
IMAGE = f"{KERNEL}-amd64"
PACKAGES = [
    f"linux-image-{IMAGE}",
    f"linux-headers-{IMAGE}",
    f"linux-headers-{KERNEL}-common",
    "linux-kbuild-6.1",
    "linux-source-6.1",
]
# The source package of sid whose net/sched/sch_dualpi2.c is built against these headers, with older.h.
NEWER = "linux-source-7.2"
# Linux's PIE updates first half a second after its creation; with this time, updates come at multiples of 16 ms.
CREATED = 1_004_000_000
START = 1_600_000_000
MIRROR = "http://deb.debian.org/debian"
RENAMED = {
    "ktime_get": "narrows_ktime_get",
    "get_random_bytes": "narrows_get_random_bytes",
    "get_random_u32": "narrows_get_random_u32",
    "get_random_u16": "narrows_get_random_u16",
    "jiffies": "narrows_jiffies",
    "mod_timer": "narrows_mod_timer",
    "timer_delete": "narrows_del_timer",
    "timer_delete_sync": "narrows_del_timer_sync",
    "qdisc_watchdog_schedule_range_ns": "narrows_watchdog_schedule",
    "qdisc_watchdog_cancel": "narrows_watchdog_cancel",
    "hrtimer_start_range_ns": "narrows_hrtimer_start_range_ns",
    "hrtimer_cancel": "narrows_hrtimer_cancel",
}
KINDS = "?SIOT"  # waits, sent, dropped on enqueue, on dequeue, by a timer
MASK = (1 << 64) - 1


def cases() -> tuple[list[Table], list[Table]]:
    """The scenarios and disciplines of cases.txt."""
    scenarios, discs = [], []
    for line in (HERE / "cases.txt").read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word == "scenario":
            name, rate = rest.split()
            scenarios.append({"name": name, "rate": int(rate), "trains": []})
        elif word == "train":
            scenarios[-1]["trains"].append([int(x) for x in rest.split()])
        elif word == "disc":
            name, limit, unit = rest.split()
            discs.append({"name": name, "limit": f"{limit} {unit}", "our": [], "kernel": [], "txqueuelen": "1000"})
        elif word == "our":
            discs[-1]["our"].append(rest)
        elif word == "kernel":
            discs[-1]["kernel"] = rest.split()
        elif word and word != "#":
            discs[-1][word] = rest
    return scenarios, discs


def arrivals(scenario: Table) -> list[tuple[int, int, int, int]]:
    """(time in ns, flow, size, TOS) in the order of times, and of trains at one time."""
    found = []
    for place, (flow, size, tos, start, gap, count, burst) in enumerate(scenario["trains"]):
        times = [start + i // burst * gap + i % burst * 10 for i in range(count)]
        found += [(START + at * 1000, place, flow, size, tos) for at in times]
    return [(at, flow, size, tos) for at, _, flow, size, tos in sorted(found)]


def split_mix(state: int) -> tuple[int, int]:
    """The next state and number of SplitMix64."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return state, z ^ (z >> 31)


def generator(skip: int) -> list[int]:
    """The state of narrows_rng's Stream::new(1, 0, "oracle", "kernel") after `skip` numbers."""
    state = 0xCBF29CE484222325
    for text in ("oracle", "kernel"):
        for byte in text.encode() + b"\xff":
            state = ((state ^ byte) * 0x100000001B3) & MASK
    state ^= split_mix(1)[1]
    state = (state + split_mix(1)[1]) & MASK
    s = []
    for _ in range(4):
        state, word = split_mix(state)
        s.append(word)
    for _ in range(skip):
        a, b, c, d = s
        t = (b << 17) & MASK
        c, d = c ^ a, d ^ b
        s = [a ^ d, b ^ c, c ^ t, ((d << 45) | (d >> 19)) & MASK]
    return s


def job(scenario: Table, disc: Table) -> bytes:
    """The input of replay.c."""
    listed = arrivals(scenario)
    packed = struct.pack(
        "<7Q", int(disc.get("created", CREATED)), scenario["rate"], *generator(int(disc.get("skip", 0))), len(listed)
    )
    for at, flow, size, tos in listed:
        band = {0xB8: 0, 0x20: 2}.get(tos & 0xFC, 1)
        packed += struct.pack("<QIHBB", at, flow, size, tos, 255 if "class" in disc else band)
    return packed


def sh(*command: str | Path, **more: Any) -> None:
    """Runs a command that must succeed."""
    subprocess.run([str(x) for x in command], check=True, **more)


def newer(work: Path, mod: Path) -> None:
    """Fetches sid's source of dualpi2 with the numbers of its attributes."""
    sid = work / "sid"
    if not (sid / "done").exists():
        for name in ("etc", "lists/partial", "cache/archives/partial"):
            (sid / name).mkdir(parents=True, exist_ok=True)
        keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
        (sid / "etc/sid.sources").write_text(
            f"Types: deb\nURIs: {MIRROR}\nSuites: sid\nComponents: main\nSigned-By: {keyring}\n"
        )
        places = {
            "Dir::Etc::sourcelist": "/dev/null",
            "Dir::Etc::sourceparts": sid / "etc",
            "Dir::State::lists": sid / "lists",
            "Dir::Cache": sid / "cache",
        }
        options = [text for key, value in places.items() for text in ("-o", f"{key}={value}")]
        sh("apt-get", *options, "update", cwd=sid)
        sh("apt-get", *options, "download", NEWER, cwd=sid)
        for package in sid.glob("*.deb"):
            sh("dpkg-deb", "-x", package, sid)
        files = [f"{NEWER}/net/sched/sch_dualpi2.c", f"{NEWER}/include/uapi/linux/pkt_sched.h"]
        sh("tar", "xf", sid / f"usr/src/{NEWER}.tar.xz", *files, cwd=sid)
        (sid / "done").touch()
    shutil.copy(sid / NEWER / "net/sched/sch_dualpi2.c", mod)
    shutil.copy(HERE / "older.h", mod)
    attributes = (sid / NEWER / "include/uapi/linux/pkt_sched.h").read_text()
    (mod / "dualpi2_attributes.h").write_text(
        attributes[attributes.index("/* DUALPI2 */") : attributes.rindex("#endif")]
    )
    (mod / "net").mkdir(exist_ok=True)
    (mod / "net/gso.h").write_text("/* In older kernels linux/netdevice.h has these. */\n")


def prepare(work: Path) -> None:
    """Fetches and unpacks the kernel's packages, and builds the modules."""
    root, deb, mod = work / "root", work / "deb", work / "mod"
    if not (root / "done").exists():
        deb.mkdir(parents=True, exist_ok=True)
        sh("apt-get", "download", *PACKAGES, cwd=deb)
        for package in deb.glob("*.deb"):
            sh("dpkg-deb", "-x", package, root)
        source = "linux-source-6.1"
        sh("tar", "xf", root / f"usr/src/{source}.tar.xz", f"{source}/net/sched/sch_fq_codel.c", cwd=root)
        makefile = root / f"usr/src/linux-headers-{IMAGE}/Makefile"
        makefile.write_text(makefile.read_text().replace("include /usr", f"include {root}/usr"))
        (root / "done").touch()
    mod.mkdir(exist_ok=True)
    shutil.copy(HERE / "replay.c", mod)
    shutil.copy(root / "linux-source-6.1/net/sched/sch_fq_codel.c", mod)
    newer(work, mod)
    (mod / "Makefile").write_text(
        "obj-m := replay.o sch_fq_codel.o sch_dualpi2.o\nCFLAGS_sch_dualpi2.o := -include $(src)/older.h -I$(src)\n"
    )
    sh("make", "-s", "-C", root / f"usr/src/linux-headers-{IMAGE}", f"M={mod}", "modules")


def module(work: Path, name: str, to: Path) -> None:
    """Copies a module with its imports renamed."""
    replay = name == "replay"
    built = work / f"mod/{name}.ko"
    found = built if built.exists() else next((work / "root/lib/modules").rglob(f"{name}.ko"))
    flags = [f"--redefine-sym={old}={new}" for old, new in RENAMED.items()] if name.startswith("sch_") else []
    # Modules with renamed imports have no versions of these; a module whose exports have none is accepted.
    flags += [f"--remove-section={section}" for section in ("__kcrctab", ".rela__kcrctab")] if replay else []
    sh("objcopy", *flags, found, to / f"{name}.ko")


def init(scenarios: list[Table], discs: list[Table]) -> str:
    """The guest's init script."""
    lines = [
        "#!/bin/busybox sh",
        "/bin/busybox mkdir -p /proc /sys /dev /tmp /out",
        "/bin/busybox mount -t proc proc /proc",
        "/bin/busybox mount -t sysfs sys /sys",
        "/bin/busybox mount -t devtmpfs dev /dev",
        "b=/bin/busybox",
        'r() { "$@" || echo "FAILED $*" >&2; }',
        "cd /lib/q",
        "$b dmesg -n 7",
        "$b insmod dummy.ko numdummies=0",
        "$b insmod replay.ko",
        "/bin/ip link add n0 mtu 1486 type dummy",
        "/bin/tc qdisc replace dev n0 root fq_codel",
        "echo 1 > /proc/narrows_forget",
        "/bin/tc qdisc del dev n0 root",
    ]
    loaded = []
    for disc in discs:
        for name in disc["kernel"]:
            if name not in loaded:
                loaded.append(name)
                lines.append(f"r $b insmod {name}.ko")
    for disc in discs:
        for scenario in scenarios:
            case = f"{disc['name']}.{scenario['name']}"
            lines.append(f"$b cat /jobs/{case} > /proc/narrows")
            lines.append(f"r /bin/ip link set n0 mtu {disc.get('mtu', 1486)} txqueuelen {disc['txqueuelen']}")
            text = disc["tc"].format(
                rate80=scenario["rate"] * 8 // 10, rate20=scenario["rate"] // 5, rate=scenario["rate"]
            )
            lines.append(f"r /bin/tc qdisc add dev n0 root handle 1: {text}")
            if "class" in disc:
                flows = sorted({train[0] for train in scenario["trains"]})
                lines += [
                    f"r /bin/tc class add dev n0 parent 1: classid 1:{f + 1:x} {disc['name']} {disc['class']}"
                    for f in flows
                ]
            lines += [f"r $b cat /proc/narrows > /out/{case}", "r /bin/tc qdisc del dev n0 root"]
    lines += [
        "$b stty -F /dev/ttyS1 raw -echo",
        "cd /out",
        "$b tar c . | $b gzip -1 > /dev/ttyS1",
        "$b sync",
        "$b sleep 1",
        "$b poweroff -f",
    ]
    return "\n".join(lines) + "\n"


def guest(work: Path, scenarios: list[Table], discs: list[Table]) -> dict[str, bytes]:
    """Runs all cases in the guest; the outcomes by case."""
    fs = work / "fs"
    shutil.rmtree(fs, ignore_errors=True)
    for name in ("bin", "lib/q", "jobs"):
        (fs / name).mkdir(parents=True)
    shutil.copy("/usr/bin/busybox", fs / "bin")
    for tool in ("/usr/sbin/tc", "/usr/sbin/ip"):
        shutil.copy(tool, fs / "bin")
        listed = subprocess.run(["ldd", tool], capture_output=True, text=True, check=True).stdout
        for library in {word for word in listed.split() if word.startswith("/")}:
            (fs / library[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, fs / library[1:])
    for name in sorted({"dummy", "replay"} | {name for disc in discs for name in disc["kernel"]}):
        module(work, name, fs / "lib/q")
    for disc in discs:
        for scenario in scenarios:
            (fs / f"jobs/{disc['name']}.{scenario['name']}").write_bytes(job(scenario, disc))
    (fs / "init").write_text(init(scenarios, discs))
    (fs / "init").chmod(0o755)
    names = subprocess.run(["find", "."], cwd=fs, capture_output=True, check=True).stdout
    archive = subprocess.run(
        ["busybox", "cpio", "-o", "-H", "newc"], input=names, cwd=fs, capture_output=True, check=True
    ).stdout
    (work / "initrd.gz").write_bytes(gzip.compress(archive, 1))
    out, log = work / "out.tgz", work / "console.log"
    sh(
        "qemu-system-x86_64",
        "-accel",
        "tcg",
        "-m",
        "768",
        "-display",
        "none",
        "-no-reboot",
        "-nodefaults",
        "-kernel",
        work / f"root/boot/vmlinuz-{IMAGE}",
        "-initrd",
        work / "initrd.gz",
        "-append",
        "console=ttyS0 panic=-1 loglevel=4",
        "-serial",
        f"file:{log}",
        "-serial",
        f"file:{out}",
        timeout=450,
    )
    text = log.read_text(errors="replace")
    if "FAILED" in text or "rror" in text:
        sys.stdout.write(text)
    shutil.rmtree(work / "results", ignore_errors=True)
    (work / "results").mkdir()
    sh("tar", "xzf", out, "-C", work / "results")
    return {path.name: path.read_bytes() for path in (work / "results").iterdir()}


def coded(letters: str) -> str:
    """Run lengths: "SSSM" becomes "3SM"."""
    out, i = "", 0
    while i < len(letters):
        j = i
        while j < len(letters) and letters[j] == letters[i]:
            j += 1
        out += (str(j - i) if j - i > 1 else "") + letters[i]
        i = j
    return out


def digest(listed: list[tuple[int, int]]) -> int:
    """FNV-1a over the numbers and times of departures, in their order."""
    value = 0xCBF29CE484222325
    for at, number in listed:
        for word in (number, at):
            value = ((value ^ word) * 0x100000001B3) & MASK
    return value


def outcome_lines(scenario: Table, raw: bytes) -> list[str]:
    """The lines of the oracle about one run: decisions, departures and sojourn times."""
    listed = arrivals(scenario)
    letters, gone, waits = "", [], []
    for number, (at, _, _, tos) in enumerate(listed):
        left, kind, out_tos = struct.unpack_from("<QBB", raw, 16 * number)
        marked = kind == 1 and out_tos & 3 == 3 and tos & 3 != 3
        letters += "M" if marked else KINDS[kind]
        if kind == 1:
            gone.append((left, number))
            waits.append(left - at)
    waits.sort()
    at = [waits[min(len(waits) - 1, len(waits) * p // 100)] for p in (50, 95, 99)]
    return [f"sojourn {at[0]} {at[1]} {at[2]}", f"departures {digest(sorted(gone)):016x}", f"packets {coded(letters)}"]


def main() -> None:
    """Records all cases, and writes the oracle."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache/narrows-kernel-qdiscs")
    parser.add_argument("--out", type=Path, default=ORACLE)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    scenarios, discs = cases()
    prepare(given.work)
    results = guest(given.work, scenarios, discs)
    lines = [
        "# Decisions of Linux's queue disciplines, recorded by `python3 tools/kernel_qdiscs/run.py`. Do not edit.",
        "# README: tools/kernel_qdiscs/README.md",
        f"linux {IMAGE}",
        f"start {START}",
    ]
    for scenario in scenarios:
        lines.append(f"scenario {scenario['name']} {scenario['rate']}")
        lines += ["train " + " ".join(map(str, train)) for train in scenario["trains"]]
    for disc in discs:
        lines += [f"disc {disc['name']} {disc['limit']}", f"tc {disc['tc']}"] + [f"our {our}" for our in disc["our"]]
        for scenario in scenarios:
            lines.append(f"run {scenario['name']}")
            lines += outcome_lines(scenario, results[f"{disc['name']}.{scenario['name']}"])
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text("\n".join(lines) + "\n")
    size = given.out.stat().st_size
    sys.stdout.write(f"{given.out}: {size} bytes, {len(discs)} disciplines, {len(scenarios)} scenarios\n")


if __name__ == "__main__":
    main()

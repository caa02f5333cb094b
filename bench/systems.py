"""The available simulators, and the programs that run the workloads on them.

Narrows and the bare loop are built from this repository. The others are used as installed, or from a given place: the
programs below ``ns3`` and ``htsim`` are ours, and are compiled against them.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.measure import System
from bench.workloads import BUILD, HERE, ROOT, Workload

NS2_PROGRAMS = ("ns", "ns2")
NS2_SCHEDULERS = ("Calendar", "Splay")

NS3_MODULES = (
    "applications",
    "nix-vector-routing",
    "point-to-point",
    "traffic-control",
    "internet",
    "bridge",
    "network",
    "stats",
    "core",
)

OURS_NOTE = "CUBIC, SACK, timestamps"


@dataclass(frozen=True)
class Places:
    """Where to look for the other simulators, from options or the environment; None for the usual places."""

    ns2: str | None
    ns3: str | None
    htsim: str | None

    @classmethod
    def from_environment(cls) -> "Places":
        """``NS2`` (a program), ``NS3`` (an install prefix), ``HTSIM`` (the folder of ``libhtsim.a``)."""
        return cls(*(os.environ.get(name) or None for name in ("NS2", "NS3", "HTSIM")))


class BuildError(RuntimeError):
    """A given simulator does not exist, or our program for it does not compile; the message says why."""


def cargo_examples(*names: str, flags: str = "", kind: str = "") -> dict[str, Path]:
    """Build examples of narrows-sim, optimised, and return where they are; flags of the compiler need a kind."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--package", "narrows-sim"]
    environment = dict(os.environ)
    if flags:
        # With a target, Cargo uses the flags for the program alone, and not for what runs while it is built.
        command += ["--target", _host(), "--target-dir", str(ROOT / "target" / kind)]
        environment["RUSTFLAGS"] = flags
    for name in names:
        command += ["--example", name]
    output = subprocess.run(
        [*command, "--message-format=json"], cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE
    ).stdout
    messages = [json.loads(line) for line in output.splitlines()]
    programs = {m["target"]["name"]: Path(m["executable"]) for m in messages if m.get("executable")}
    return {name: programs[name] for name in names}


def _host() -> str:
    """The target of the compiler that Cargo uses."""
    said = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    return next(line.removeprefix("host: ") for line in said.splitlines() if line.startswith("host: "))


def guided(version: str) -> System:
    """Narrows as wheels are built (``maturin build --pgo``): guided by a profile of the runs of ``tools/train.py``."""
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True).stdout.strip()
    tools = sorted(Path(sysroot).glob("lib/rustlib/*/bin/llvm-profdata"))
    if not tools:
        raise BuildError("--guided: no llvm-profdata beside the compiler (rustup component add llvm-tools)")
    folder = BUILD / "guided"
    shutil.rmtree(folder, ignore_errors=True)
    counts = folder / "counts"
    subprocess.run([sys.executable, str(ROOT / "tools" / "train.py"), "--write", str(folder / "train")], check=True)
    counting = cargo_examples("speed", flags=f"-Cprofile-generate={counts}", kind="counting")["speed"]
    for scenario in sorted((folder / "train").glob("*.toml")):
        subprocess.run([str(counting), str(scenario)], check=True, stdout=subprocess.DEVNULL)
    merged = folder / "merged.profdata"
    subprocess.run([str(tools[0]), "merge", "--output", str(merged), str(counts)], check=True)
    # Cargo does not look into the file; by its name it knows another profile.
    profile = folder / f"{hashlib.sha256(merged.read_bytes()).hexdigest()[:16]}.profdata"
    merged.rename(profile)
    program = cargo_examples("speed", flags=f"-Cprofile-use={profile}", kind="guided")["speed"]

    def command(workload: Workload) -> list[str]:
        return [str(program), str(workload.scenario())]

    return System("Narrows, as in wheels", version, f"{OURS_NOTE}; compiled with a profile", command)


def ours() -> list[System]:
    """Narrows, and the two bare loops that bound it."""
    programs = cargo_examples("speed", "bare")
    version = json.loads(
        subprocess.run(
            ["cargo", "metadata", "--no-deps", "--format-version=1", "--offline"],
            cwd=ROOT,
            check=True,
            stdout=subprocess.PIPE,
        ).stdout
    )["packages"][0]["version"]

    def narrows(workload: Workload) -> list[str]:
        return [str(programs["speed"]), str(workload.scenario())]

    def bare(workload: Workload, *, folded: bool) -> list[str] | None:
        if workload.contest or workload.ours_only:
            return None
        return [str(programs["bare"]), *workload.arguments(), f"folded={int(folded)}"]

    return [
        System("Narrows", version, OURS_NOTE, narrows),
        System("bare loop, 2 events", "", "no TCP: fixed windows, no loss", lambda w: bare(w, folded=True)),
        System("bare loop, 6 events", "", "no TCP: fixed windows, no loss", lambda w: bare(w, folded=False)),
    ]


def ns2(place: str | None) -> list[System]:
    """ns-2 with each of its fast schedulers."""
    program = place or next((path for path in map(shutil.which, NS2_PROGRAMS) if path), None)
    if program is None:
        return []
    if shutil.which(program) is None:
        raise BuildError(f"--ns2 {program}: no such program")
    said = subprocess.run([program], input="puts [ns-version]\nexit 0\n", capture_output=True, text=True, check=False)
    version = said.stdout.strip().splitlines()[-1:] or [""]

    def system(scheduler: str) -> System:
        def command(workload: Workload) -> list[str] | None:
            if workload.ours_only:
                return None
            script = HERE / "ns2" / ("contest.tcl" if workload.contest else "speed.tcl")
            return [program, str(script), f"scheduler={scheduler}", *workload.arguments()]

        return System(f"ns-2, {scheduler.lower()} queue", version[0].strip("% "), OURS_NOTE, command)

    return [system(scheduler) for scheduler in NS2_SCHEDULERS]


def _compile(source: Path, program: Path, arguments: list[str]) -> None:
    """Compile with the C++ compiler, optimised, unless source, arguments and files are those of the last build."""
    compiler = os.environ.get("CXX", "g++")
    program.parent.mkdir(parents=True, exist_ok=True)
    stamp = program.with_suffix(".command")
    command = [compiler, "-O3", "-o", str(program), str(source), *arguments]
    files = [Path(one) for one in arguments if Path(one).is_file()]  # a rebuilt library is linked again
    built = " ".join(str(path.stat().st_mtime_ns) for path in files)
    line = f"{' '.join(command)}\n{built}\n{source.read_text()}"
    if program.exists() and stamp.exists() and stamp.read_text() == line:
        return
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise BuildError(
            f"{source.name} needs a C++ compiler: {compiler} is not installed (CXX names another)"
        ) from None
    if done.returncode != 0:
        raise BuildError(f"{source} does not compile:\n{done.stderr[-2000:]}")
    stamp.write_text(line)


def _ns3_prefix(place: str | None) -> Path | None:
    """Where ns-3 is installed: the given place, the Python package ``ns3`` beside ours, or a Debian package."""
    if place is not None:
        return Path(place)
    spec = importlib.util.find_spec("ns3")
    if spec is not None and spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path("/usr") if any(Path("/usr/include").glob("ns3*/ns3/core-module.h")) else None


def ns3(place: str | None) -> list[System]:
    """ns-3, by our program ``ns3/speed.cc``."""
    prefix = _ns3_prefix(place)
    if prefix is None:
        return []
    includes = sorted({path.parent.parent for path in prefix.glob("include/**/ns3/core-module.h")})
    cores = sorted(p for folder in ("lib", "lib64", "lib/*") for p in prefix.glob(f"{folder}/libns3*-core*.so"))
    if not includes or not cores:
        raise BuildError(f"--ns3 {prefix}: no include/ns3/core-module.h with a lib/libns3*-core*.so beside it")
    core = cores[0]
    match = re.fullmatch(r"libns(3[0-9.]*(?:-dev)?)-core(.*)\.so", core.name)
    number, build = (match[1], match[2].strip("-")) if match else ("", "")
    libraries = [f"-l:{core.name.replace('-core', f'-{module}')}" for module in NS3_MODULES]
    program = BUILD / "ns3-speed"
    link = [f"-L{core.parent}", *libraries, f"-Wl,-rpath,{core.parent}"]
    _compile(HERE / "ns3" / "speed.cc", program, ["-std=c++20", f"-I{includes[0]}", *link])

    def command(workload: Workload) -> list[str] | None:
        if workload.contest or workload.ours_only:
            return None
        return [str(program), *workload.arguments(), f"buffer={workload.ns3_buffer}"]

    return [System("ns-3", f"{number} {build or 'as packaged'}".strip(), f"{OURS_NOTE}, PRR", command)]


def htsim(place: str | None) -> list[System]:
    """csg-htsim, by our program ``htsim/speed.cpp``; the user builds its library."""
    if place is None:
        return []
    folder = Path(place)
    library = folder / "libhtsim.a"
    if not library.exists():
        raise BuildError(
            f"--htsim {folder}: no libhtsim.a there (build csg-htsim first; it is the folder of its Makefile)"
        )
    program = BUILD / "htsim-speed"
    _compile(HERE / "htsim" / "speed.cpp", program, ["-std=c++11", f"-I{folder}", str(library)])
    said = subprocess.run(
        ["git", "-C", str(folder), "log", "-1", "--format=%h"], capture_output=True, text=True, check=False
    )

    def command(workload: Workload) -> list[str] | None:
        return None if workload.contest or workload.ours_only else [str(program), *workload.arguments()]

    return [System("csg-htsim", said.stdout.strip(), "Reno, NewReno recovery, no SACK", command)]


def others(places: Places) -> tuple[list[System], list[str]]:
    """All other simulators that are available, and a message for each that is not."""
    found = {"ns-2": ns2(places.ns2), "ns-3": ns3(places.ns3), "csg-htsim": htsim(places.htsim)}
    hints = {
        "ns-2": "Debian package ns2, or --ns2 PROGRAM",
        "ns-3": "PyPI package ns3 in .venv, Debian package libns3-dev, or --ns3 PREFIX",
        "csg-htsim": "--htsim FOLDER with its libhtsim.a",
    }
    missing = [f"{name} is not here ({hints[name]})" for name, systems in found.items() if not systems]
    return [system for systems in found.values() for system in systems], missing

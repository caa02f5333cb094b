"""Building modules for kernels, with programs made up for the test in place of debootstrap and its folder."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from tests.python.kernels_made import deb, files, module
from typer.testing import CliRunner

from narrows import kernels
from narrows.base.errors import InputError, LiveError
from narrows.cli import app
from narrows.kernels import cache as caches
from narrows.kernels import chroot, mirror

if TYPE_CHECKING:
    from pathlib import Path

RELEASE = "7.2.13+deb14-amd64"
SOURCE = "linux-source-7.2"
MODULE = module(["unregister_qdisc"], alias="net-sch-dualpi2", vermagic=f"{RELEASE} SMP preempt mod_unload ")
PATH = "modules/kernel/net/sched/sch_dualpi2.ko"

PROGRAMS = {
    "unshare": 'while case $1 in --*) true ;; *) false ;; esac; do shift; done; exec "$@"',
    "gpgv": "exit 1",
    "mount": "exit 0",
    "debootstrap": """
        printf '%s\\n' "$@" "http_proxy=$http_proxy" > "$FAKE/arguments"
        for root; do case $root in /*root) break ;; esac; done
        echo "I: Retrieving InRelease"
        if [ -f "$FAKE/refusal" ]; then cat "$FAKE/refusal"; exit 1; fi
        if [ -f "$FAKE/hang" ]; then sleep 20 & wait; fi
        mkdir -p "$root/dev" "$root/proc" "$root/var/cache/apt/archives"
        cp "$FAKE"/*.deb "$root/var/cache/apt/archives"
        """,
    "chroot": """
        case $* in *"make -C"*) ;; *) exit 0 ;; esac
        mkdir "$1/build"
        if [ -f "$FAKE/broken" ]; then cat "$FAKE/broken"; exit 2; fi
        if [ -f "$FAKE/module" ]; then cp "$FAKE/module" "$1/build/sch_dualpi2.ko"; fi
        """,
}
"""Shell scripts in place of programs; what they do is set by files in the directory $FAKE."""


@pytest.fixture(autouse=True)
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NARROWS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NARROWS_DEBIAN_MIRROR", "http://mirror.example/debian")
    made = tmp_path / "fake"
    (made / "bin").mkdir(parents=True)
    for name, script in PROGRAMS.items():
        (made / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (made / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{made / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE", str(made))
    (made / "keyring.gpg").touch()
    monkeypatch.setattr(mirror, "KEYRING", made / "keyring.gpg")
    source(made)
    (made / "module").write_bytes(MODULE)
    return made


def source(fake: Path, version: str = "7.2.13-1") -> None:
    for old in fake.glob("*.deb"):
        old.unlink()
    (fake / f"{SOURCE}_{version}_all.deb").write_bytes(deb({}, name=SOURCE, version=version, architecture="all"))


def added(tmp_path: Path, release: str = RELEASE, version: str = "7.2.13-1", name: str = "debian:sid") -> Path:
    """Add a kernel; return its directory."""
    path = tmp_path / "kernel.deb"
    path.write_bytes(deb(files(release), name=f"linux-image-{release}", version=version))
    kernel = kernels.add(path)
    caches.rename(kernel, {**kernel.facts, "name": name})
    return kernels.directory() / release


def only_kernels_are_left() -> bool:
    return all(not path.name.startswith(".") for path in kernels.directory().iterdir())


def test_a_built_module_becomes_part_of_its_kernel(tmp_path: Path, fake: Path) -> None:
    folder = added(tmp_path)
    told: list[tuple[str, float]] = []
    kernel = kernels.build("sch_dualpi2", progress=lambda what, share: told.append((what, share)))
    assert (folder / PATH).read_bytes() == MODULE
    assert "dualpi2" in kernel.qdiscs
    assert kernel.modules(["sch_dualpi2"]) == [("sch_dualpi2.ko", MODULE)]
    assert kernel.name == "debian:sid"
    (built,) = kernel.facts["built"]
    assert (built["module"], built["package"], built["version"]) == ("sch_dualpi2", SOURCE, "7.2.13-1")
    assert {what for what, _ in told} >= {"fetching packages", "building sch_dualpi2"}
    assert all(0 <= share <= 1 for _, share in told)
    asked = (fake / "arguments").read_text().splitlines()
    assert f"--include=make,linux-headers-{RELEASE},{SOURCE}" in asked
    assert f"--keyring={fake / 'keyring.gpg'}" in asked
    assert [asked[-4], asked[-2]] == ["sid", "http://mirror.example/debian"]
    assert only_kernels_are_left()
    # Once is enough, and removing the kernel removes the module.
    (fake / "refusal").write_text("E: no\n")
    assert kernels.build("sch_dualpi2", "sid").facts == kernel.facts
    assert kernels.remove("sid")[1] == []
    assert not folder.exists()


def test_a_kernel_keeps_its_module_when_it_is_renamed_and_loses_it_when_it_is_replaced(tmp_path: Path) -> None:
    folder = added(tmp_path)
    kernel = kernels.build("sch_dualpi2")
    caches.rename(kernel, {**kernel.facts, "name": "debian:forky"})
    assert kernels.find("forky").modules(["sch_dualpi2"])
    added(tmp_path, version="7.2.13-2")
    assert not (folder / PATH).exists()
    assert "built" not in kernels.find("sid").facts


def test_the_newest_fitting_kernel_is_taken(tmp_path: Path) -> None:
    added(tmp_path, "7.3.1-amd64", "7.3.1-1", "7.3.1-amd64")
    added(tmp_path, "6.12.5-amd64", "6.12.5-1", "debian:trixie")
    with pytest.raises(LiveError, match=r"no kernel at hand fits: sch_dualpi2 needs Linux 6\.17 or later") as failed:
        kernels.build("sch_dualpi2")
    assert failed.value.exit_code == 3
    for name in ("7.3", "trixie"):
        with pytest.raises(InputError, match=r"needs Linux 6\.17 or later, added as debian:SUITE"):
            kernels.build("sch_dualpi2", name)
    with pytest.raises(LiveError, match="no kernel 'debian:sid' is at hand"):
        kernels.build("sch_dualpi2", "debian:sid")
    added(tmp_path)
    assert kernels.build("sch_dualpi2").release == RELEASE


@pytest.mark.parametrize("program", ["debootstrap", "gpgv", "unshare"])
def test_a_missing_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    added(tmp_path)
    found = chroot._found
    monkeypatch.setattr(chroot, "_found", lambda name: None if name == program else found(name))
    with pytest.raises(LiveError, match=f"building needs the program {program}; apt-get install") as failed:
        kernels.build("sch_dualpi2")
    assert failed.value.exit_code == 3
    assert only_kernels_are_left()


def test_missing_rights_and_keys_are_told(tmp_path: Path, fake: Path) -> None:
    added(tmp_path)
    (fake / "bin" / "unshare").write_text(
        "#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted'; exit 1\n"
    )
    with pytest.raises(LiveError, match="Operation not permitted; run it as root, or allow user namespaces") as failed:
        kernels.build("sch_dualpi2")
    assert failed.value.exit_code == 3
    (fake / "keyring.gpg").unlink()
    with pytest.raises(LiveError, match="apt-get install debian-archive-keyring") as failed:
        kernels.build("sch_dualpi2")
    assert failed.value.exit_code == 3


@pytest.mark.parametrize(
    ("said", "code", "message"),
    [
        ("E: Failed getting release file http://x/Release", 3, "building needs the mirror"),
        ("E: Couldn't find these debs: linux-headers-7", 3, "has no linux-headers-7: it has another kernel"),
        ("E: Release signed by unknown key (key id 1)", 1, "sid from http://mirror.example/debian: Release signed by"),
        ("tar: x: No space left on device\nE: x", 1, "nothing was kept; free some space"),
        ("", 3, "Retrieving InRelease; building needs the mirror"),
    ],
)
def test_packages_that_cannot_be_had_are_told(tmp_path: Path, fake: Path, said: str, code: int, message: str) -> None:
    added(tmp_path)
    (fake / "refusal").write_text(f"{said}\n" if said else "")
    with pytest.raises(LiveError, match=message) as failed:
        kernels.build("sch_dualpi2")
    assert failed.value.exit_code == code
    assert only_kernels_are_left()


def test_source_of_another_version_is_refused_and_a_rebuild_is_not(tmp_path: Path, fake: Path) -> None:
    added(tmp_path)
    source(fake, "7.2.14-1")
    with pytest.raises(LiveError, match=r"is of version 7.2.13-1, and sid has the source of 7.2.14-1") as failed:
        kernels.build("sch_dualpi2")
    assert failed.value.exit_code == 3
    added(tmp_path, version="7.2.14-1+b2")
    assert kernels.build("sch_dualpi2").facts["built"][0]["version"] == "7.2.14-1"


def test_a_build_that_fails_is_told_and_leaves_nothing(tmp_path: Path, fake: Path) -> None:
    folder = added(tmp_path)
    (fake / "broken").write_text("  CC [M]\nx.c:3: error: no such field\nmake: *** [x] Error 2\n")
    message = r"cannot be built for debian:sid .*: x.c:3: error: no such field; --keep DIR keeps the log"
    with pytest.raises(LiveError, match=message) as failed:
        kernels.build("sch_dualpi2")
    assert failed.value.exit_code == 1
    (fake / "broken").unlink()
    for content, why in (
        (None, "the build made no module"),
        (b"\x7fELF", "is not a whole kernel module"),
        (module(vermagic="7.2.9 SMP "), "was built for another release"),
    ):
        (fake / "module").unlink(missing_ok=True)
        if content is not None:
            (fake / "module").write_bytes(content)
        with pytest.raises(LiveError, match=why):
            kernels.build("sch_dualpi2")
    assert only_kernels_are_left()
    assert not (folder / PATH).exists()
    assert kernels.find("sid").modules(["tcp_vegas"])


def test_a_folder_can_be_kept(tmp_path: Path, fake: Path) -> None:
    added(tmp_path)
    (fake / "broken").write_text("error: x\n")
    with pytest.raises(LiveError, match="error: x"):
        kernels.build("sch_dualpi2", keep=tmp_path / "kept")
    assert "error: x" in (tmp_path / "kept/log").read_text()
    assert (tmp_path / "kept/root/build").is_dir()
    with pytest.raises(InputError, match="holds files; allowed: a new folder"):
        kernels.build("sch_dualpi2", keep=tmp_path / "kept")
    with pytest.raises(InputError, match="cannot be used"):
        kernels.build("sch_dualpi2", keep=tmp_path / "kernel.deb")


def test_no_space_in_a_kept_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(chroot.Chroot, "fill", full)
    with pytest.raises(LiveError, match="no module was kept; free some space, or name another folder") as failed:
        kernels.build("sch_dualpi2", keep=tmp_path / "kept")
    assert failed.value.exit_code == 1


def test_an_interruption_ends_all_processes_and_leaves_nothing(tmp_path: Path, fake: Path) -> None:
    (fake / "bin" / "unshare").unlink()
    rights = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    real = shutil.which("unshare")
    alone = [real or "unshare", *rights, "--mount", "--pid", "--fork", "true"]
    if real is None or subprocess.run(alone, capture_output=True, check=False).returncode:
        pytest.skip("this process may not make namespaces")
    added(tmp_path)
    (fake / "hang").touch()

    def interrupt(_what: str, _share: float) -> None:
        raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        kernels.build("sch_dualpi2", progress=interrupt)
    assert time.monotonic() - started < 15, "waits for a process that the command left behind"
    assert only_kernels_are_left()


def test_the_proxy_of_apt_is_used_unless_the_environment_has_one(
    tmp_path: Path, fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added(tmp_path)
    monkeypatch.delenv("http_proxy", raising=False)
    (fake / "bin" / "apt-config").write_text("#!/bin/sh\necho http://proxy.example:3128\n")
    (fake / "bin" / "apt-config").chmod(0o755)
    (fake / "refusal").write_text("E: x\n")
    for wanted in ("http://proxy.example:3128", "http://mine.example"):
        with pytest.raises(LiveError):
            kernels.build("sch_dualpi2")
        assert (fake / "arguments").read_text().splitlines()[-1] == f"http_proxy={wanted}"
        monkeypatch.setenv("http_proxy", "http://mine.example")


def test_the_command_builds_and_prints(tmp_path: Path) -> None:
    added(tmp_path)

    def narrows(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["kernels", *arguments])
        return done.exit_code, done.stdout or done.stderr

    code, said = narrows("build", "sch_dualpi2", "--kernel", "debian:sid")
    assert (code, said.splitlines()) == (
        0,
        [
            f"debian:sid: Linux {RELEASE} has sch_dualpi2",
            f"  built from {SOURCE} 7.2.13-1: debootstrap verified signature and hashes",
        ],
    )
    code, said = narrows("build", "sch_dualpi2", "--json")
    assert json.loads(said)["kernels"][0]["built"][0]["module"] == "sch_dualpi2"
    for arguments, message in (
        (["build"], "NAME: is missing; allowed: sch_dualpi2"),
        (["build", "sch_fq"], "'sch_fq' is not a module that can be built; allowed: sch_dualpi2"),
        (["--kernel", "sid"], "--kernel: is for `narrows kernels build`"),
        (["remove", "sid", "--keep", "x"], "--keep: is for `narrows kernels build`"),
    ):
        code, said = narrows(*arguments)
        assert code == 2
        assert message in said


def test_a_kernel_without_the_module_says_how_to_build_it(tmp_path: Path) -> None:
    added(tmp_path)
    with pytest.raises(LiveError, match=r"`narrows kernels build sch_dualpi2` builds it for a kernel of Linux 6\.17"):
        kernels.find("sid").modules(["sch_dualpi2"])

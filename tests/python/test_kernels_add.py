"""Adding kernels: archives and their hashes, what goes wrong, kills, and files of the user in the cache."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from tests.python.kernels_made import MODULES, RELEASE, Mirror, bookworm, deb, files, module, vmlinuz

from narrows import kernels
from narrows.base.errors import InputError, LiveError
from narrows.kernels import apt, mirror, tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()", "kernels"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NARROWS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    made = bookworm(tmp_path / "mirror")
    monkeypatch.setenv("NARROWS_DEBIAN_MIRROR", made.address)
    return made


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that hides programs."""
    which = shutil.which

    def hide(*programs: str) -> None:
        monkeypatch.setattr(shutil, "which", lambda name: None if name in programs else which(name))

    return hide


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make a key and take it for the archive's; return a command that signs with it."""
    if shutil.which("gpg") is None or shutil.which("gpgv") is None:
        pytest.skip("gpg and gpgv are not installed")
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--yes", "--quiet"]
    made = ["--passphrase", "", "--quick-generate-key", "test@example.org", "ed25519", "sign", "never"]
    subprocess.run([*gpg, *made], check=True, capture_output=True)
    ring = tmp_path / "keyring.gpg"
    subprocess.run([*gpg, "--output", str(ring), "--export"], check=True, capture_output=True)
    for user in (mirror, apt):
        monkeypatch.setattr(user, "KEYRING", ring)
    return [*gpg, "--clearsign"]


def nothing_is_left(cache: Path) -> bool:
    return not cache.exists() or list(cache.iterdir()) == []


# Archives.


def test_a_suite_without_apt_and_gpgv_is_added_and_says_what_was_not_checked(
    archive: Mirror, without: Callable[..., None], cache: Path
) -> None:
    archive.write()
    without("apt-get", "gpgv")
    told: list[tuple[str, float]] = []
    kernel = kernels.add("debian:bookworm", lambda what, share: told.append((what, share)))
    assert (kernel.name, kernel.release, kernel.version) == ("debian:bookworm", RELEASE, (6, 1, 99))
    assert kernel.facts["verified"].startswith("hashes verified; the archive's signature was not checked")
    assert {what for what, _ in told} >= {f"fetching linux-image-{RELEASE}", "unpacking"}
    assert all(0 <= share <= 1 for _, share in told)
    for name in ("bookworm", "debian:bookworm", RELEASE, None):
        assert kernels.find(name).release == RELEASE
    assert [path.name for path in cache.iterdir()] == [RELEASE]


@pytest.mark.parametrize("client", ["apt-get", "gpgv"])
def test_a_signed_suite_is_added_and_a_tampered_one_is_not(
    archive: Mirror, keys: list[str], without: Callable[..., None], cache: Path, client: str
) -> None:
    if client == "gpgv":
        without("apt-get")
    elif shutil.which("apt-get") is None:
        pytest.skip("apt is not installed")
    archive.write(sign=keys)
    kernel = kernels.add("debian:bookworm")
    assert kernel.facts["verified"].startswith(client.partition("-")[0])
    assert kernel.modules(["tcp_vegas"])[0][1] == MODULES["kernel/net/ipv4/tcp_vegas.ko"]
    kernels.remove("bookworm")
    signed = archive.root / "dists/bookworm/InRelease"
    signed.write_text(signed.read_text().replace("Origin: Debian", "Origin: Debiam"))
    with pytest.raises(LiveError) as failed:
        kernels.add("debian:bookworm")
    assert failed.value.exit_code == 1
    assert nothing_is_left(cache)


@pytest.mark.parametrize("client", ["apt-get", "gpgv"])
def test_a_package_that_is_not_the_listed_one_is_refused(
    archive: Mirror, keys: list[str], without: Callable[..., None], cache: Path, client: str
) -> None:
    if client == "gpgv":
        without("apt-get")
    elif shutil.which("apt-get") is None:
        pytest.skip("apt is not installed")
    archive.write(sign=keys, SHA256="0" * 64)
    with pytest.raises(LiveError, match=r"Hash Sum mismatch|another size or SHA-256|Unable to fetch") as failed:
        kernels.add("debian:bookworm")
    assert failed.value.exit_code == 1
    assert nothing_is_left(cache)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"SHA256": "0" * 64}, "another size or SHA-256"),
        ({"Size": 100}, "another size or SHA-256"),
        ({"Size": 10**9}, "another size or SHA-256"),
        ({"Filename": "../../etc/passwd"}, "is incomplete"),
        ({"SHA256": ""}, "is incomplete"),
        ({"Filename": "pool/nothing.deb"}, "cannot be fetched"),
    ],
)
def test_a_wrong_entry_is_refused(
    archive: Mirror, without: Callable[..., None], cache: Path, wrong: dict[str, Any], message: str
) -> None:
    archive.write(**wrong)
    without("apt-get", "gpgv")
    with pytest.raises(LiveError, match=message):
        kernels.add("debian:bookworm")
    assert nothing_is_left(cache)


def test_a_list_that_is_not_the_signed_one_and_another_suite_are_refused(
    archive: Mirror, without: Callable[..., None], cache: Path
) -> None:
    archive.write()
    without("apt-get", "gpgv")
    shutil.copytree(archive.root / "dists/bookworm", archive.root / "dists/trixie")
    with pytest.raises(LiveError, match="is of suite 'oldstable', not 'trixie'"):
        kernels.add("debian:trixie")
    packages = archive.root / "dists/bookworm/main/binary-amd64/Packages.xz"
    packages.write_bytes(packages.read_bytes()[:-1] + b"x")
    with pytest.raises(LiveError, match="is not what the archive lists"):
        kernels.add("debian:bookworm")
    assert nothing_is_left(cache)


@pytest.mark.parametrize("has_apt", [True, False])
def test_without_a_network_it_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, without: Callable[..., None], cache: Path, has_apt: bool
) -> None:
    monkeypatch.setenv("NARROWS_DEBIAN_MIRROR", "http://127.0.0.1:9/debian")
    if not has_apt:
        without("apt-get")
    with pytest.raises(LiveError, match=r"`narrows kernels add FILE\.deb` needs only a package") as failed:
        kernels.add("debian:bookworm")
    assert failed.value.exit_code == 3
    assert nothing_is_left(cache)


class Failing(BaseHTTPRequestHandler):
    """A server that announces more than it sends, or has nothing."""

    def do_GET(self) -> None:
        if "bookworm" in self.path:
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"Origin: Debian\n")
        else:
            self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("suite", "code", "message"), [("bookworm", 1, "is of suite None"), ("nonsense", 1, "there is no such file")]
)
def test_a_server_that_fails_is_told(
    monkeypatch: pytest.MonkeyPatch, without: Callable[..., None], cache: Path, suite: str, code: int, message: str
) -> None:
    without("apt-get", "gpgv")
    with ThreadingHTTPServer(("127.0.0.1", 0), Failing) as server:
        threading.Thread(target=server.serve_forever).start()
        monkeypatch.setenv("NARROWS_DEBIAN_MIRROR", f"http://127.0.0.1:{server.server_port}/debian")
        with pytest.raises(LiveError, match=message) as failed:
            kernels.add(f"debian:{suite}")
        server.shutdown()
    assert failed.value.exit_code == code
    assert nothing_is_left(cache)


def test_a_split_kernel_is_put_together(archive: Mirror, without: Callable[..., None]) -> None:
    whole = files(below="usr/lib")
    boot = {name: content for name, content in whole.items() if name.startswith("boot/")}
    rest = {name: content for name, content in whole.items() if not name.startswith("boot/")}
    image, binary, loaded = (f"linux-{part}-{RELEASE}" for part in ("image", "binary", "modules"))
    archive.add(image, deb({}, name=image), f"{binary} (= 6.1.99-1), {loaded} (= 6.1.99-1) | other, libc6")
    archive.add(binary, deb(boot, name=binary))
    archive.add(loaded, deb(rest, name=loaded))
    archive.write()
    without("apt-get", "gpgv")
    kernel = kernels.add("debian:bookworm")
    assert [one["package"] for one in kernel.facts["packages"]] == [image, binary, loaded]
    assert kernel.congestion_controls == ("cubic", "reno", "vegas")


def test_adding_again_fetches_only_what_is_newer(archive: Mirror, without: Callable[..., None]) -> None:
    archive.write()
    without("apt-get", "gpgv")
    first = kernels.add("debian:bookworm")
    shutil.rmtree(archive.root / "pool")
    assert kernels.add("debian:bookworm") == first
    newer = "6.1.0-10-amd64"
    archive.add(f"linux-image-{newer}", deb(files(newer), name=f"linux-image-{newer}", version="6.1.100-1"))
    archive.depends["linux-image-amd64"] = f"linux-image-{newer}"
    archive.versions[f"linux-image-{newer}"] = "6.1.100-1"
    archive.write()
    assert kernels.add("debian:bookworm").release == newer
    assert [kernel.release for kernel in kernels.at_hand()] == [newer, RELEASE]
    assert kernels.find("bookworm").release == newer


def test_a_kernel_of_a_file_gets_the_suites_name_when_it_is_the_same(
    archive: Mirror, without: Callable[..., None], tmp_path: Path, cache: Path
) -> None:
    archive.write()
    (path,) = archive.root.rglob(f"linux-image-{RELEASE}_*.deb")
    kept = tmp_path / "kept.deb"
    shutil.copy(path, kept)
    assert kernels.add(kept).name == RELEASE
    path.unlink()
    without("apt-get", "gpgv")
    assert kernels.add("debian:bookworm").name == "debian:bookworm"
    assert kernels.find("bookworm").modules(["tcp_vegas"])
    assert kernels.add(kept).name == "debian:bookworm"
    assert [one.name for one in cache.iterdir()] == [RELEASE]
    assert kernels.remove("bookworm")[1] == []
    assert nothing_is_left(cache)


# Broken packages.


def entry(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


BROKEN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is not a Debian package"),
    "short": (deb()[:-200], "ends early"),
    "no kernel": (deb({"usr/share/doc/x": b"x"}), "has no kernel image"),
    "no modules": (deb({f"boot/vmlinuz-{RELEASE}": vmlinuz()}), "but no kernel modules"),
    "two kernels": (deb({**files(), "boot/config-6.2.0": b""}), "has files of two kernels"),
    "another architecture": (deb(architecture="arm64"), "is for arm64; allowed: a kernel for amd64"),
    "a path above": (
        deb({**files(), f"lib/modules/{RELEASE}/kernel/net/../../../../../x.ko": b""}),
        "leaves its folder",
    ),
    "an absolute path": (deb({**files(), "x": entry("/etc/passwd", tarfile.REGTYPE)}), "leaves its folder"),
    "a link for the image": (
        deb({"x": entry(f"boot/vmlinuz-{RELEASE}", tarfile.SYMTYPE, "/etc/shadow"), f"boot/config-{RELEASE}": b""}),
        "which is a link",
    ),
    "a hard link for a module": (
        deb({"x": entry(f"lib/modules/{RELEASE}/kernel/net/a.ko", tarfile.LNKTYPE, "/etc/shadow")}),
        "is a link",
    ),
    "a device": (deb({**files(), "x": entry("dev/mem", tarfile.CHRTYPE)}), "neither a file nor a link"),
    "a damaged module": (deb({**files(), f"lib/modules/{RELEASE}/kernel/net/a.ko": b"\x7fELF"}), "kernel module"),
    "no version": (deb(version=""), "has no Version"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_package_leaves_nothing(tmp_path: Path, cache: Path, case: str) -> None:
    content, message = BROKEN[case]
    (tmp_path / "broken.deb").write_bytes(content)
    with pytest.raises(LiveError, match=message) as failed:
        kernels.add(tmp_path / "broken.deb")
    assert "broken.deb" in str(failed.value)
    assert failed.value.exit_code == 1
    assert nothing_is_left(cache)
    assert not (tmp_path / "x.ko").exists()


def test_links_beside_the_kernel_are_left_out(tmp_path: Path, cache: Path) -> None:
    linked = entry(f"lib/modules/{RELEASE}/build", tarfile.SYMTYPE, f"/usr/src/linux-headers-{RELEASE}")
    (tmp_path / "kernel.deb").write_bytes(deb({**files(), "x": linked, "vmlinuz": entry("vmlinuz", tarfile.SYMTYPE)}))
    kernels.add(tmp_path / "kernel.deb")
    assert not any(path.is_symlink() for path in cache.rglob("*"))


# What goes wrong on the way.


@pytest.fixture
def package(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.deb"
    path.write_bytes(deb())
    return path


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_no_space_is_told_and_leaves_nothing(
    package: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def full(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(tree._Tree, "_place", full)
    with pytest.raises(LiveError, match=r"nothing was kept; free some space, or set NARROWS_CACHE") as failed:
        kernels.add(package)
    assert failed.value.exit_code == 1
    assert nothing_is_left(cache)


def test_a_cache_that_cannot_be_written_is_told(package: Path, tmp_path: Path, cache: Path) -> None:
    (tmp_path / "cache").write_text("a file of the user's")
    assert kernels.at_hand() == []
    with pytest.raises(LiveError, match="set NARROWS_CACHE to another directory"):
        kernels.add(package)
    assert (tmp_path / "cache").read_text() == "a file of the user's"
    assert not cache.exists()


def test_an_ordinary_user_needs_no_rights(as_nobody: list[str], package: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    theirs.chmod(0o777)
    tmp_path.chmod(0o755)
    # Parallel tests have a folder of their own in between.
    for above in tmp_path.parents[:3]:
        above.chmod(0o755)
    ours = ("NARROWS_CACHE", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in ours} | {"HOME": str(theirs)}
    command = [*as_nobody, *NARROWS, "add", str(package)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (theirs / ".cache/narrows/kernels" / RELEASE / "vmlinuz").is_file()


def test_an_interruption_leaves_nothing(package: Path, cache: Path) -> None:
    def interrupt(_what: str, _share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kernels.add(package, interrupt)
    assert nothing_is_left(cache)


def large() -> bytes:
    """Return a package that takes a moment."""
    many = {f"kernel/net/m{number}.ko": module(name=f"m{number}") + 20 * os.urandom(1_000) for number in range(400)}
    return deb(files(modules={**MODULES, **many}))


@pytest.mark.slow
def test_kills_at_random_moments_leave_a_whole_kernel_or_none(tmp_path: Path, cache: Path) -> None:
    choose = random.Random(14)  # noqa: S311 - which moments, not secrets
    package = tmp_path / "large.deb"
    contents = large(), large()  # the same files with other bytes
    package.write_bytes(contents[0])
    cache.mkdir(parents=True)
    (cache / "notes.txt").write_text("mine")
    started = time.monotonic()
    subprocess.run([*NARROWS, "add", str(package)], check=True, capture_output=True)
    usual = time.monotonic() - started
    whole = sorted(path.relative_to(cache) for path in (cache / RELEASE).rglob("*"))
    for number in range(12):
        if number % 2:
            kernels.remove(RELEASE)
        else:
            package.write_bytes(contents[number // 2 % 2 == 0])  # replaces the kernel in place
        process = subprocess.Popen([*NARROWS, "add", str(package)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(choose.uniform(0.3, 1.1) * usual)
        process.kill()
        process.communicate()
        for folder in cache.glob(".*.partial"):
            os.utime(folder, (0, 0))
        for kernel in kernels.at_hand():
            assert sorted(path.relative_to(cache) for path in (cache / kernel.release).rglob("*")) == whole
            assert len(kernel.modules([f"m{one}" for one in range(400)])) == 400
        assert {path.name for path in cache.iterdir()} - {RELEASE} == {"notes.txt"}
        kernels.add(package)
    assert (cache / "notes.txt").read_text() == "mine"


def test_a_removal_that_was_killed_is_finished(package: Path, cache: Path) -> None:
    kernels.add(package)
    (cache / RELEASE / "kernel.json").unlink()
    (cache / RELEASE / "modules/modules.builtin").unlink()
    assert kernels.at_hand() == []
    assert nothing_is_left(cache)


# What is the user's.


def test_a_folder_of_the_users_is_never_touched(package: Path, cache: Path) -> None:
    theirs = cache / RELEASE
    theirs.mkdir(parents=True)
    (theirs / "vmlinuz").write_bytes(b"mine")
    with pytest.raises(InputError, match=r"vmlinuz: was not written by Narrows and is kept; allowed: move it away"):
        kernels.add(package)
    assert [path.name for path in cache.iterdir()] == [RELEASE]
    assert [path.name for path in theirs.iterdir()] == ["vmlinuz"]
    assert (theirs / "vmlinuz").read_bytes() == b"mine"
    assert kernels.at_hand() == []


def test_a_link_in_the_cache_is_not_followed(package: Path, tmp_path: Path, cache: Path) -> None:
    cache.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (cache / RELEASE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a symbolic link"):
        kernels.add(package)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert [path.name for path in cache.iterdir()] == [RELEASE]


def test_files_of_the_users_in_a_kernel_stay_when_it_is_replaced_or_removed(package: Path, cache: Path) -> None:
    kernel = kernels.add(package)
    (cache / RELEASE / "notes").write_text("mine")
    (cache / RELEASE / "modules/kernel/net/mine.ko").write_text("mine")
    kernel.config_file.write_text("CONFIG_MINE=y\n")
    package.write_bytes(deb(version="6.1.98-2"))
    with pytest.raises(InputError, match="config: was not written by Narrows and is kept"):
        kernels.add(package)
    assert kernels.find(RELEASE).version == (6, 1, 99)
    _, left = kernels.remove(RELEASE)
    assert left == ["config", "modules/", "notes"]
    assert sorted(path.name for path in cache.rglob("*") if path.is_file()) == ["config", "mine.ko", "notes"]
    assert kernels.at_hand() == []


def test_a_hidden_folder_of_the_users_stays(package: Path, cache: Path) -> None:
    (cache / ".narrows.0123abcd.partial").mkdir(parents=True)
    (cache / ".narrows.0123abcd.partial" / "mine").write_text("mine")
    kernels.add(package)
    assert (cache / ".narrows.0123abcd.partial" / "mine").read_text() == "mine"

"""Kernels in the cache: what each has, load order of modules, names; packages and modules as bytes."""

from __future__ import annotations

import io
import json
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.python.kernels_made import CONFIG, MODULES, RELEASE, deb, files, module, packed, vmlinuz
from typer.testing import CliRunner

from narrows import kernels
from narrows.base.errors import InputError, LiveError
from narrows.cli import app
from narrows.kernels import mirror, package
from narrows.kernels.catalogue import kernel_packages
from narrows.kernels.compressed import BrokenError, expanded
from narrows.kernels.modinfo import Module

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.testing import Result


def narrows(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["kernels", *map(str, arguments)])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NARROWS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def add(tmp_path: Path) -> Callable[..., kernels.Kernel]:
    """Return a function that adds a package, by default that of `RELEASE`."""

    def added(content: bytes | None = None) -> kernels.Kernel:
        path = tmp_path / "kernel.deb"
        path.write_bytes(deb() if content is None else content)
        return kernels.add(path)

    return added


def other(release: str, version: str) -> bytes:
    return deb(files(release), name=f"linux-image-{release}", version=version)


# What a kernel has.


@pytest.mark.parametrize("how", ["xz", "zst", "gz", ""])
def test_a_package_becomes_a_kernel_with_what_it_has(add: Callable[..., kernels.Kernel], how: str) -> None:
    kernel = add(deb(how=how))
    assert (kernel.name, kernel.release, kernel.version) == (RELEASE, RELEASE, (6, 1, 99))
    assert kernel.vmlinuz.read_bytes() == vmlinuz()
    assert kernel.congestion_controls == ("cubic", "reno", "vegas")
    assert {"fq", "fq_codel", "one", "two", "pfifo_fast"} <= set(kernel.qdiscs)
    assert not {"act_sum", "sch_fq", "odd"} & {*kernel.qdiscs, *kernel.congestion_controls}
    assert kernel.config["CONFIG_HZ"] == "250"
    assert "CONFIG_NET_XGRESS" not in kernel.config
    assert [kernel.has(name) for name in ("AccECN", "struct_ops", "tcx")] == [False, True, False]


def test_features_follow_version_and_configuration(add: Callable[..., kernels.Kernel]) -> None:
    newer = {**files("7.2.1-amd64"), "boot/config-7.2.1-amd64": b"CONFIG_BPF_SYSCALL=y\nCONFIG_NET_XGRESS=y\n"}
    kernel = add(deb(newer, version="7.2.1-1"))
    assert [kernel.has(name) for name in ("AccECN", "struct_ops", "tcx")] == [True, False, True]
    refusing = add(deb({**files("6.18.44-amd64")}, version="6.18.44-1"))
    assert not refusing.has("AccECN"), "6.18 refuses tcp_ecn above 2"
    with pytest.raises(InputError, match="'ECN' is not a feature of kernels; allowed: AccECN, struct_ops, tcx"):
        kernel.has("ECN")


def test_only_modules_for_networks_and_what_they_depend_on_are_kept(
    add: Callable[..., kernels.Kernel], cache: Path
) -> None:
    add()
    kept = {path.name for path in (cache / RELEASE / "modules").rglob("*.ko")}
    assert kept == {Path(name).name for name in MODULES} - {"loud.ko"}
    assert sorted(path.name for path in (cache / RELEASE).iterdir()) == [
        ".narrows.json",
        "config",
        "kernel.json",
        "modules",
        "vmlinuz",
    ]


@pytest.mark.parametrize("how", ["", "xz", "zst", "gz"])
def test_compressed_modules_are_kept_decompressed(add: Callable[..., kernels.Kernel], cache: Path, how: str) -> None:
    ending = f".{how}" if how else ""
    kernel = add(deb(files(modules={f"{name}{ending}": packed(content, how) for name, content in MODULES.items()})))
    assert kernel.modules(["tcp_vegas"]) == [("tcp_vegas.ko", MODULES["kernel/net/ipv4/tcp_vegas.ko"])]
    assert (cache / RELEASE / "modules" / "kernel/net/ipv4/tcp_vegas.ko").is_file()


def test_a_split_kernel_below_usr_is_read_too(add: Callable[..., kernels.Kernel]) -> None:
    moved = {name: content for name, content in files(below="usr/lib").items() if not name.startswith("boot/")}
    moved |= {f"usr/lib/modules/{RELEASE}/vmlinuz": vmlinuz(), f"usr/lib/modules/{RELEASE}/config": CONFIG.encode()}
    assert add(deb(moved)).has("struct_ops")


# Load order.


def test_modules_come_after_what_they_depend_on_each_once_without_built_in_ones(
    add: Callable[..., kernels.Kernel],
) -> None:
    kernel = add()
    loaded = kernel.modules(["act_sum.ko", "tcp_cubic.ko", "tunnel", "lib_sum", "tcp_vegas.ko"])
    assert [name for name, _ in loaded] == [
        "sum32c_generic.ko",
        "lib-sum.ko",
        "act_sum.ko",
        "further.ko",
        "far.ko",
        "tunnel.ko",
        "tcp_vegas.ko",
    ]
    assert dict(loaded)["far.ko"] == MODULES["kernel/drivers/misc/far.ko"]


def test_modules_that_depend_on_each_other_end(add: Callable[..., kernels.Kernel]) -> None:
    circle = {"kernel/net/a.ko": module(depends="b"), "kernel/net/b.ko": module(depends="a")}
    assert len(add(deb(files(modules=circle))).modules(["a"])) == 2


def test_a_missing_module_is_named_with_the_kernel(add: Callable[..., kernels.Kernel]) -> None:
    kernel = add(deb(files(modules={"kernel/net/a.ko": module(depends="gone")})))
    with pytest.raises(LiveError, match=rf"kernel {RELEASE} has no module tcp_prague, neither as a file nor") as failed:
        kernel.modules(["tcp_prague.ko"])
    assert failed.value.exit_code == 3
    with pytest.raises(LiveError, match="has no module gone, which a depends on"):
        kernel.modules(["a"])


def test_a_damaged_module_in_the_cache_is_named(add: Callable[..., kernels.Kernel], cache: Path) -> None:
    kernel = add()
    path = cache / RELEASE / "modules/kernel/net/ipv4/tcp_vegas.ko"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(LiveError, match=r"tcp_vegas.ko: is not a whole kernel module; add the kernel"):
        kernel.modules(["tcp_vegas"])


# Names.


def test_a_kernel_is_found_by_name_release_version_and_file(add: Callable[..., kernels.Kernel], tmp_path: Path) -> None:
    add()
    add(other("6.12.5-amd64", "6.12.5-1"))
    assert [kernel.release for kernel in kernels.at_hand()] == ["6.12.5-amd64", RELEASE]
    wanted = {None: "6.12.5-amd64", RELEASE: RELEASE, "6.1": RELEASE, "6.1.0": RELEASE, "6.1.99": RELEASE}
    wanted |= {"6": "6.12.5-amd64", "6.12": "6.12.5-amd64"}
    for name, release in wanted.items():
        assert kernels.find(name).release == release
    assert kernels.find(tmp_path / "kernel.deb").release == "6.12.5-amd64"
    for name in ("6.2", "6.1.9", "bookworm", "", "6.", "amd64"):
        with pytest.raises(LiveError, match=r"at hand: 6.12.5-amd64, 6.1.0-9-amd64; .narrows kernels add") as failed:
            kernels.find(name)
        assert failed.value.exit_code == 3


def test_without_a_kernel_the_message_says_which_command_adds_one() -> None:
    assert kernels.at_hand() == []
    with pytest.raises(LiveError, match="no kernel is at hand; `narrows kernels add debian:bookworm` adds one"):
        kernels.find()
    with pytest.raises(LiveError, match="`narrows kernels add debian:trixie` adds it"):
        kernels.find("debian:trixie")


def installed(root: Path, below: str) -> Path:
    """Write an installed kernel; return its image."""
    for name, content in files().items():
        moved = name if name.startswith("boot/") else name.replace(f"lib/modules/{RELEASE}", below)
        path = root / moved
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root / "boot" / f"vmlinuz-{RELEASE}"


@pytest.mark.parametrize("below", [f"lib/modules/{RELEASE}", f"boot/lib/modules/{RELEASE}", "boot/modules"])
def test_an_installed_kernel_is_used_where_it_is_or_added(tmp_path: Path, cache: Path, below: str) -> None:
    image = installed(tmp_path / "root", below)
    kernel = kernels.find(image)
    assert (kernel.release, kernel.directory) == (RELEASE, tmp_path / "root" / below)
    assert kernel.congestion_controls == ("cubic", "reno", "vegas")
    assert kernel.has("struct_ops")
    assert not cache.exists()
    added = kernels.add(image)
    assert added.vmlinuz == cache / RELEASE / "vmlinuz"
    assert [name for name, _ in added.modules(["tunnel"])] == [name for name, _ in kernel.modules(["tunnel"])]


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", vmlinuz("../../etc"), vmlinuz()[:0x201]])
def test_a_file_that_is_no_image_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "vmlinuz").write_bytes(content)
    with pytest.raises(InputError, match="is not the image of a kernel"):
        kernels.find(tmp_path / "vmlinuz")
    with pytest.raises(InputError, match="cannot be read"):
        kernels.find(tmp_path / "nothing")


def test_the_cache_is_where_the_variables_say(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernels.directory().parts[-2:] == ("cache", "kernels")
    monkeypatch.delenv("NARROWS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert kernels.directory() == Path("/x/narrows/kernels")
    for unset in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", unset)
        monkeypatch.setenv("HOME", "/home/me")
        assert kernels.directory() == Path("/home/me/.cache/narrows/kernels")


# The command.


def test_the_command_lists_adds_and_removes(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert narrows().stdout == "no kernel is at hand; `narrows kernels add debian:bookworm` adds one\n"
    (tmp_path / "kernel.deb").write_bytes(deb())
    shown = narrows("add", tmp_path / "kernel.deb")
    assert shown.stdout == f"{RELEASE}: Linux {RELEASE} is at hand\n  verified: no; a file is taken as it is\n"
    assert all(word in narrows().stdout for word in (RELEASE, "cubic reno vegas", "fq_codel", "struct_ops"))
    content = json.loads(narrows("--json").stdout)
    assert (content["format"], content["directory"]) == (1, str(cache))
    (kernel,) = content["kernels"]
    page = (Path(__file__).resolve().parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    section = page.partition("## `narrows kernels --json`")[2].partition("\n## ")[0]
    assert all(f"`{key}`" in section for key in {*kernel, *kernel["features"], *kernel["packages"][0]})
    assert kernel["packages"][0]["version"] == "6.1.99-1"
    assert json.loads(narrows("remove", "6.1", "--json").stdout) == {"format": 1, "removed": [RELEASE]}
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["add"], 2, "NAME: is missing; allowed: debian:bookworm"),
        (["add", "nothing"], 2, "neither a suite of Debian nor a file"),
        (["add", "debian:"], 2, "is not a suite of Debian"),
        (["add", "debian:../x"], 2, "is not a suite of Debian"),
        (["add", "nothing.deb"], 2, "there is no such file"),
        (["remove", "6.1"], 3, "no kernel is at hand"),
        (["remove"], 2, "NAME: is missing"),
    ],
)
def test_bad_input_is_refused(arguments: list[str], code: int, message: str) -> None:
    shown = narrows(*arguments)
    assert (shown.exit_code, shown.stdout) == (code, "")
    assert message in shown.stderr


def test_removing_needs_one_kernel(add: Callable[..., kernels.Kernel]) -> None:
    add()
    add(other("6.1.5-amd64", "6.1.5-1"))
    shown = narrows("remove", "6.1")
    assert shown.exit_code == 2
    assert f"is the name of several kernels; allowed: one of {RELEASE}, 6.1.5-amd64" in shown.stderr
    assert len(kernels.at_hand()) == 2


# Any bytes.


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=st.binary(max_size=400), headed=st.booleans())
def test_any_bytes_are_a_package_or_a_clear_error(tmp_path: Path, content: bytes, headed: bool) -> None:
    path = tmp_path / "any.deb"
    path.write_bytes((b"!<arch>\n" if headed else b"") + content)
    with pytest.raises(LiveError, match=r"any\.deb"):
        kernels.add(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(
    how=st.sampled_from(["", "xz", "gz", "zst"]),
    place=st.floats(0, 1, exclude_max=True),
    value=st.integers(0, 255),
    end=st.floats(0.2, 1),
)
def test_a_damaged_package_is_read_or_a_clear_error(
    tmp_path: Path, how: str, place: float, value: int, end: float
) -> None:
    content = bytearray(SAMPLES[how])
    content[int(place * len(content))] = value
    path = tmp_path / "damaged.deb"
    path.write_bytes(content[: int(end * len(content))])
    with suppress(BrokenError):
        package.read(path)
        for member in package.members(path):
            if member.is_plain:
                member.read(1 << 20)


SAMPLES = {how: deb(how=how) for how in ("", "xz", "gz", "zst")}


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_a_module_or_a_clear_error(content: bytes, headed: bool) -> None:
    whole = module(depends="a")
    with suppress(BrokenError):
        Module.read("kernel/a.ko", whole[:64] + content if headed else content)


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_a_list_of_packages_or_a_clear_error(content: bytes, headed: bool) -> None:
    text = (b"Package: linux-image-amd64\n" if headed else b"") + content
    with pytest.raises(BrokenError):
        kernel_packages(io.BytesIO(text))


@pytest.mark.parametrize("how", ["xz", "gz", "zst"])
def test_decompression_is_limited(how: str) -> None:
    bomb = packed(bytes(3 << 20), how)
    with pytest.raises(BrokenError, match="is larger than 1 MiB when decompressed"):
        expanded(bomb, 1 << 20)
    assert expanded(bomb, 3 << 20) == bytes(3 << 20)
    with pytest.raises(BrokenError):
        expanded(bomb[:-4], 3 << 20)


def test_a_header_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("./x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 30
    path = tmp_path / "bomb.deb"
    path.write_bytes(deb({"x": info}))
    with pytest.raises(BrokenError, match="a header is too large"):
        list(package.members(path))


# Mirrors.


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        (
            "sources.list",
            "# deb http://no/debian x main\ndeb [arch=amd64] http://a/debian/ bookworm main\n",
            "http://a/debian",
        ),
        (
            "sources.list.d/b.list",
            "deb-src http://no/debian x main\ndeb https://b/debian trixie main\n",
            "https://b/debian",
        ),
        (
            "sources.list.d/c.sources",
            "Types: deb\nURIs: http://s/debian-security\n\n# c\nTypes: deb deb-src\nURIs:\n http://c/debian\n",
            "http://c/debian",
        ),
        ("sources.list.d/d.sources", "Enabled: no\nTypes: deb\nURIs: http://no/debian\n", mirror.DEFAULT),
        ("sources.list", "deb mirror+file:/etc/x/debian a main\ndeb cdrom:[x]/debian a main\n", mirror.DEFAULT),
        ("other", "deb http://no/debian x main\n", mirror.DEFAULT),
    ],
)
def test_the_mirror_is_that_of_apts_configuration(tmp_path: Path, name: str, text: str, wanted: str) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / name).write_text(text)
    assert mirror.mirror(tmp_path) == wanted


def test_a_variable_names_another_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(mirror.ENVIRONMENT, "https://mine/debian/")
    assert mirror.mirror() == "https://mine/debian"
    for wrong in ("mine/debian", "ftp://mine/debian", "http://mine/a b"):
        monkeypatch.setenv(mirror.ENVIRONMENT, wrong)
        with pytest.raises(InputError, match=r"NARROWS_DEBIAN_MIRROR: .* is not an address; allowed: http://HOST/PATH"):
            mirror.mirror()

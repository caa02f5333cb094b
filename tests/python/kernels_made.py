"""Kernels, modules, Debian packages and archives made up for tests, as small as their formats allow."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import struct
import subprocess
import tarfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

RELEASE: Final = "6.1.0-9-amd64"
CONFIG: Final = (
    "CONFIG_BPF_SYSCALL=y\nCONFIG_BPF_JIT=y\nCONFIG_DEBUG_INFO_BTF=y\n# CONFIG_NET_XGRESS is not set\nCONFIG_HZ=250\n"
)
BUILTIN: Final = (
    "kernel/net/ipv4/tcp_cubic.ko\nkernel/net/ipv4/tcp_diag.ko\nkernel/net/sched/sch_fq_codel.ko\nkernel/lib/built.ko\n"
)


def module(symbols: Iterable[str] = (), **info: str) -> bytes:
    """Return an ELF file with the sections that Narrows reads; keys of `info` are those of ``.modinfo``."""
    sections = {
        "": b"",
        ".modinfo": b"".join(f"{key.rstrip('_')}={value}\0".encode() for key, value in info.items()),
        ".strtab": b"\0" + b"".join(symbol.encode() + b"\0" for symbol in symbols),
    }
    names = b""
    at = {}
    for name in (*sections, ".shstrtab"):
        at[name] = len(names)
        names += name.encode() + b"\0"
    sections[".shstrtab"] = names
    body, headers = b"", b""
    for name, content in sections.items():
        headers += struct.pack("<IIQQQQIIQQ", at[name], 1, 0, 0, 64 + len(body), len(content), 0, 0, 1, 0)
        body += content
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head = struct.pack(
        "<16sHHIQQQIHHHHHH", ident, 1, 62, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, len(sections), len(sections) - 1
    )
    return head + body + headers


def vmlinuz(release: str = RELEASE) -> bytes:
    """Return an image that has only its header and the text of its version."""
    text = f"{release} (me@here) #1".encode() + b"\0"
    head = bytearray(0x300)
    struct.pack_into("<H4s8xH", head, 0x200, 0x66EB, b"HdrS", 0x100)
    return bytes(head) + text


MODULES: Final[dict[str, bytes]] = {
    "kernel/net/ipv4/tcp_vegas.ko": module(["tcp_register_congestion_control"], name="tcp_vegas"),
    "kernel/net/ipv4/tcp_odd.ko": module(["tcp_unregister_something"], name="tcp_odd"),
    "kernel/net/sched/sch_fq.ko": module(["unregister_qdisc"], name="sch_fq"),
    "kernel/net/sched/sch_two.ko": module(["unregister_qdisc"], alias="net-sch-one", alias_="net-sch-two"),
    "kernel/net/sched/act_sum.ko": module(depends="lib-sum,built"),
    "kernel/lib/lib-sum.ko": module(softdep="pre: sum32c post: sch_fq"),
    "kernel/crypto/sum32c_fast.ko": module(alias="sum32c"),
    "kernel/crypto/sum32c_generic.ko": module(alias="sum32c"),
    "kernel/net/tunnel.ko": module(depends="far", softdep="pre: nowhere"),
    "kernel/drivers/misc/far.ko": module(depends="further"),
    "kernel/drivers/misc/further.ko": module(),
    "kernel/drivers/sound/loud.ko": module(),
}


def files(release: str = RELEASE, modules: Mapping[str, bytes] = MODULES, below: str = "lib") -> dict[str, bytes]:
    """Return the files of a kernel's package by path."""
    inside = {"modules.builtin": BUILTIN.encode(), **modules}
    return {
        f"boot/vmlinuz-{release}": vmlinuz(release),
        f"boot/config-{release}": CONFIG.encode(),
        f"boot/System.map-{release}": b"no",
        **{f"{below}/modules/{release}/{name}": content for name, content in inside.items()},
    }


def tarball(content: Mapping[str, bytes | tarfile.TarInfo]) -> bytes:
    """Return a `tar` archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, one in content.items():
            if isinstance(one, tarfile.TarInfo):
                archive.addfile(one)
            else:
                info = tarfile.TarInfo(f"./{name}")
                info.size = len(one)
                archive.addfile(info, io.BytesIO(one))
    return buffer.getvalue()


def packed(content: bytes, how: str) -> bytes:
    """Compress as ``xz``, ``zst``, ``gz``, or not at all."""
    if how == "xz":
        return lzma.compress(content, preset=0)
    if how == "gz":
        return gzip.compress(content)
    if how == "zst":
        import pyarrow as pa

        return bytes(pa.compress(content, codec="zstd", asbytes=True))
    return content


def archive(members: Mapping[str, bytes]) -> bytes:
    """Return an `ar` archive."""
    out = b"!<arch>\n"
    for name, content in members.items():
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode() + content
        out += b"\n" * (len(content) % 2)
    return out


def deb(
    content: Mapping[str, bytes | tarfile.TarInfo] | None = None,
    how: str = "xz",
    *,
    name: str = f"linux-image-{RELEASE}",
    version: str = "6.1.99-1",
    architecture: str = "amd64",
) -> bytes:
    """Return a Debian package."""
    control = f"Package: {name}\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: me\nDescription: x\n"
    ending = f".{how}" if how else ""
    return archive(
        {
            "debian-binary": b"2.0\n",
            f"control.tar{ending}": packed(tarball({"control": control.encode()}), how),
            f"data.tar{ending}": packed(tarball(files() if content is None else content), how),
        }
    )


@dataclass
class Mirror:
    """An archive of Debian in a directory.

    Attributes
    ----------
    root : pathlib.Path
    depends : dict
        What each package depends on.
    """

    root: Path
    suite: str = "bookworm"
    packages: dict[str, bytes] = field(default_factory=dict)
    depends: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """The mirror as NARROWS_DEBIAN_MIRROR names it."""
        return f"file://{self.root}"

    def add(self, name: str, content: bytes, depends: str = "", version: str = "6.1.99-1") -> None:
        """Add a package."""
        self.packages[name], self.depends[name], self.versions[name] = content, depends, version

    def write(self, sign: list[str] | None = None, **wrong: Any) -> None:
        """Write the archive; `wrong` replaces values of the image's entry, `sign` is a command that signs."""
        entries = []
        for name, content in self.packages.items():
            pool = self.root / "pool" / "main" / "l" / f"{name}_{self.versions[name]}_amd64.deb"
            pool.parent.mkdir(parents=True, exist_ok=True)
            pool.write_bytes(content)
            fields = {
                "Package": name,
                "Version": self.versions[name],
                "Architecture": "amd64",
                "Maintainer": "me",
                "Depends": self.depends[name],
                "Filename": str(pool.relative_to(self.root)),
                "Size": len(content),
                "SHA256": hashlib.sha256(content).hexdigest(),
                "Description": "x",
            }
            if name != "linux-image-amd64":
                fields |= wrong
            entries.append("".join(f"{key}: {value}\n" for key, value in fields.items() if value))
        plain = "\n".join(["Package: other\nVersion: 1\n", *entries]).encode()
        listed = lzma.compress(plain)
        dists = self.root / "dists" / self.suite
        path = "main/binary-amd64/Packages.xz"
        (dists / path).parent.mkdir(parents=True, exist_ok=True)
        (dists / path).write_bytes(listed)
        lines = ""
        for name, content in ((path, listed), (path.removesuffix(".xz"), plain)):
            lines += f" {hashlib.sha256(content).hexdigest()} {len(content)} {name}\n"
        release = (
            f"Origin: Debian\nSuite: oldstable\nCodename: {self.suite}\nDate: Sat, 01 Nov 2025 00:00:00 UTC\n"
            f"Architectures: amd64\nComponents: main\nSHA256:\n{lines}"
        )
        (dists / "Release").write_text(release)
        if sign is None:
            text = f"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n{release}-----BEGIN PGP SIGNATURE-----\n\nx\n"
            (dists / "InRelease").write_text(text)
        else:
            command = [*sign, "--output", str(dists / "InRelease"), str(dists / "Release")]
            subprocess.run(command, check=True, capture_output=True)


def bookworm(root: Path, content: bytes | None = None) -> Mirror:
    """Return an archive with one kernel, not yet written."""
    made = Mirror(root)
    name = f"linux-image-{RELEASE}"
    made.add("linux-image-amd64", deb({}, name="linux-image-amd64"), f"{name} (= 6.1.99-1)")
    made.add(name, deb() if content is None else content, "kmod, linux-base (>= 4.3~), initramfs-tools | dracut")
    return made

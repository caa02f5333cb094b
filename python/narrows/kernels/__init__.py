"""Kernels for virtual machines: which are at hand, what each has, adding and removing them, and building modules.

A kernel is kept in a cache of the user's, unpacked from its Debian package; nothing is installed, and nothing needs
root. `find` gives a `Kernel` with image, configuration and modules.
"""

from __future__ import annotations

from narrows.kernels.building import build
from narrows.kernels.cache import directory
from narrows.kernels.commands import add, remove
from narrows.kernels.finding import at_hand, find
from narrows.kernels.kernel import FEATURES, Kernel

__all__ = ["FEATURES", "Kernel", "add", "at_hand", "build", "directory", "find", "remove"]

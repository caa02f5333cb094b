"""Runs on the Linux of a virtual machine, in virtual time: any kernel at hand, bit for bit, without root.

QEMU emulates the processor and counts its instructions; the guest's clock follows that count, and idle time is skipped.
So a run depends on nothing that happens on this machine, and two runs are equal to the last bit.
"""

from __future__ import annotations

from narrows.runs.vm.world import address, check, machine_address, run

__all__ = ["address", "check", "machine_address", "run"]

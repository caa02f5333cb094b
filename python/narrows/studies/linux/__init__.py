"""Every variant in Narrows and on Linux in virtual time, and how Linux itself changed from kernel to kernel."""

from __future__ import annotations

from narrows.studies.linux.validate import LinuxValidation, validate, write

__all__ = ["LinuxValidation", "validate", "write"]

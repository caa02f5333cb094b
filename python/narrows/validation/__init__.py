"""Narrows beside another simulator: the same variant on the same network in both, compared number by number.

`description` says what is run, `inputs` turns it into what either simulator reads, `execute` runs both, `compare`
does the arithmetic, `page` writes it down, and `validate` is all of them in a row.
"""

from narrows.validation.validate import Validation, validate

__all__ = ["Validation", "validate"]

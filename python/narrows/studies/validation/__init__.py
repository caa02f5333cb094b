"""Comparison of Narrows with another simulator: the same variant on the same network in both.

`description` holds what is run, `inputs` turns it into the input of each simulator, `execute` runs both, `compare`
does the arithmetic, `page` writes the page, and `validate` runs all of these steps.
"""

from narrows.studies.validation.validate import Validation, validate

__all__ = ["Validation", "validate"]

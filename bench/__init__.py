"""The benchmark: Narrows beside other simulators, in one run. ``make bench``; see ``README.md``."""

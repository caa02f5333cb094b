"""Executing jobs: one way for every command that makes runs.

A `job` is one run, or one run of another simulator. A backend makes jobs in parallel: `threads` of this process, or a
Dask `cluster`. `loop` keeps a backend busy and waits for it, so that Ctrl-C takes effect at once. `work` executes the
missing jobs of a set, hands finished ones to a store, and reports `progress` with a `forecast`. `pilot` estimates how
long a set takes by executing some of it.
"""

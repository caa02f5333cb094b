"""Studies: questions that take many runs.

`sweep` runs a scenario over axes and seeds; `contest` runs every pair of contestants. `comparison` sets a simulated and
a live outcome side by side; `validation` compares every variant with ns-2. `reproduction` finds a paper by its name.
"""

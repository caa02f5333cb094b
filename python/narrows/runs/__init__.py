"""Runs: from a scenario to an outcome.

`simulated` makes one run or many, `until` as many as a wanted precision takes, `live` makes them on this machine's TCP
stack. `estimate` tells beforehand what they take, `captures` keeps their packets, and `taken` converts what the engine
yields. `verify` compares digests with a version's. `tasks` sends whole runs to a worker. `host` and `doctor` are about
this machine.
"""

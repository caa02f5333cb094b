"""Runs: from a scenario to an outcome, simulated or live."""

"""ACNS on this machine's own TCP stack: live figures of its evaluation next to simulated and published ones."""

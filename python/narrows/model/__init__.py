"""Scenarios as validated values, and what can be named in one."""

"""The frame of a reproduction: what all papers' reports have in common; each paper fills in the rest.

`report` declares what a paper fills in, `reproduce` makes a report, `execute` makes its runs, and `write` writes its
files. `calibration`, `numbers` and `tables` help with settings and numbers in words, and with CSV files.
"""

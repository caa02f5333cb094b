"""Finished runs in a directory: kept as they end, found again by content address, and never made twice.

`store` is what all stores have in common: one writer at a time, and the same words where something fails. `journal`
keeps records as lines of JSON; `narrows.studies.sweep.store` keeps tables as parts of a Parquet data set. `writer`
commits finished runs on a thread of its own. `pending` keeps runs beside the output of a command until that is written.
"""

"""Finished runs in directories: result directories, and stores that keep runs as they end and make none twice.

`results` writes and reads a result directory. Stores find a run again by its content address. `store` is what all of
them have in common: one writer at a time, and the same words where something fails. `journal` keeps records as lines of
JSON; `narrows.studies.sweep.store` keeps tables as parts of a Parquet data set. `archive` keeps whole runs. `writer`
commits finished runs on a thread of its own. `pending` keeps runs beside the output of a command until that is written.
"""

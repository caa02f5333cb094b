"""What every other group may use.

`errors` has the exceptions and their exit codes, `engine` the identity of the engine, `interruption` the note of a
signal. `memory` bounds what this process takes. `inputs`, `durable` and `bundled` are about files, `format` about
numbers as people read them.
"""

"""Studies: questions that take many runs."""

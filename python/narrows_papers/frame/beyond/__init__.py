"""Reports on questions that a paper leaves open, whichever the paper: a question, its runs, the page."""

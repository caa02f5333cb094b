"""Questions that NGWA's paper leaves open (section 5): other traffic and paths, flows that join and leave, 1 Gb/s."""

"""Questions that ACNS's papers leave open: partial deployment, joining flows, other networks and controls."""

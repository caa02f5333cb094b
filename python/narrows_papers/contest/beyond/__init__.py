"""Questions that the paper of the contest leaves open: its conclusions on the TCP and the 802.11 of today."""

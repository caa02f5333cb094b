"""Questions that the paper of Agile-SD leaves open: the TCP and the queues of today, harm, 10 Gb/s, many flows."""

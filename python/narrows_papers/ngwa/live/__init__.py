"""The Linux section of NGWA on this machine's own TCP stack: live results next to simulated ones."""

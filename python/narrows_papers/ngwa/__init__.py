"""NGWA (Talau and Wille): its simulations and its Linux section; `beyond` has experiments beyond the paper."""

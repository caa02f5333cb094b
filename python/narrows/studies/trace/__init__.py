"""Traces of deliveries: made from captures and runs, read, summed up, drawn and written.

>>> from narrows.studies.trace import Deliveries
>>> made = Deliveries.of_packets([0, 500_000_000, 1_000_000_000], [1504, 1504, 3008])
>>> made.mean_bps
48128.0
>>> made.to_mahimahi().split()
['1', '500', '1000', '1000']
"""

from narrows.studies.trace.deliveries import Deliveries
from narrows.studies.trace.sources import of_capture, of_run, read

__all__ = ["Deliveries", "of_capture", "of_run", "read"]

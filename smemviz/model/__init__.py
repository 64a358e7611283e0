"""What hardware makes of addresses: wavefronts, degrees, sectors, on every compute capability."""

from smemviz.model.counting.banks import Counts, assign, count, wavefronts
from smemviz.model.counting.relative import relative_addresses
from smemviz.model.counting.sectors import bytes_used, sectors
from smemviz.model.counting.summary import SiteSummary, add_totals, summarize, totals_of
from smemviz.model.hardware.compute_capability import Basis, ComputeCapability, device, known
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.operations import basis, predictable, unpredictable

__all__ = [
    "H200",
    "Basis",
    "ComputeCapability",
    "Counts",
    "Hardware",
    "SiteSummary",
    "add_totals",
    "assign",
    "basis",
    "bytes_used",
    "count",
    "device",
    "known",
    "predictable",
    "relative_addresses",
    "sectors",
    "summarize",
    "totals_of",
    "unpredictable",
    "wavefronts",
]

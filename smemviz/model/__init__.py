"""What hardware makes of addresses: wavefronts, degrees, sectors, on every compute capability."""

from smemviz.model.counting.banks import Counts, assign, count, degree, ideal, wavefronts
from smemviz.model.counting.relative import relative_addresses
from smemviz.model.counting.sectors import bytes_used, sectors
from smemviz.model.counting.summary import SiteSummary, add_totals, summarize, totals_of
from smemviz.model.hardware.compute_capability import Basis, ComputeCapability, device, known
from smemviz.model.hardware.operations import basis, predictable, unpredictable

__all__ = [
    "Basis",
    "ComputeCapability",
    "Counts",
    "SiteSummary",
    "add_totals",
    "assign",
    "basis",
    "bytes_used",
    "count",
    "degree",
    "device",
    "ideal",
    "known",
    "predictable",
    "relative_addresses",
    "sectors",
    "summarize",
    "totals_of",
    "unpredictable",
    "wavefronts",
]

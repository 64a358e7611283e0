"""What hardware makes of addresses: wavefronts, degrees, sectors, on every compute capability."""

from smemviz.model.banks import Counts, assign, count, degree, ideal, wavefronts
from smemviz.model.devices import Basis, ComputeCapability, device, known
from smemviz.model.operations import basis, predictable, unpredictable
from smemviz.model.relative import relative_addresses
from smemviz.model.sectors import bytes_used, sectors
from smemviz.model.summary import SiteSummary, add_totals, summarize, totals_of

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

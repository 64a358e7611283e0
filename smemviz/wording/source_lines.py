"""A line of source with the accesses in it, as plain data: which letters are of which, and what the line costs."""

import math
from collections.abc import Sequence
from itertools import groupby

from smemviz.i18n import _
from smemviz.recordings.data import Site, SiteSummary
from smemviz.wording.labels import count, degree_name, percent
from smemviz.wording.sentences import action, badge_parts

Part = tuple[str, int | None]  # letters, and the number of the access that they are of


def parts_of(text: str, line: int, here: Sequence[int], sites: Sequence[Site]) -> list[Part]:
    """Cut a line where accesses begin and end; one within another takes its letters, of two alike the first.

    Args:
        text: the line.
        line: its number.
        here: the numbers of the accesses that begin in it.
        sites: those of the launch.
    """

    owners = (owner_of(line, column, here, sites) for column in range(len(text)))
    letters = groupby(zip(text, owners, strict=True), key=lambda letter: letter[1])
    return [("".join(letter for letter, _owner in run), site) for site, run in letters]


def owner_of(line: int, column: int, here: Sequence[int], sites: Sequence[Site]) -> int | None:
    """Return the innermost of the accesses ``here`` that a letter belongs to, None for none."""
    covering = (i for i in here if _covers(sites[i], line, column))
    return min(covering, key=lambda i: len(sites[i].source), default=None)


def _covers(site: Site, line: int, column: int) -> bool:
    return (site.line, site.column) <= (line, column) < (site.end_line, site.end_column)


def costs_of(here: Sequence[int], sites: Sequence[Site], rows: Sequence[SiteSummary]) -> dict[str, str]:
    """Say what the accesses of a line cost: ``degree``, ``excess`` and ``share`` of the launch's in shared memory.

    Else what they ``moved`` of global memory; nothing where there are none.
    """
    shared = [i for i in here if sites[i].is_shared and rows[i].max_degree]
    if shared:
        excess, total = sum(rows[i].excess or 0 for i in here), sum(row.excess or 0 for row in rows)
        degree = degree_name(max(rows[i].max_degree or 0 for i in shared))
        return {"degree": degree, "excess": f"{excess:,}", "share": percent(excess / total) if excess else ""}
    if not here:
        return {}
    sectors = sum(rows[i].sectors or 0 for i in here)
    return {"moved": count(sectors, "sector") if sectors else badge_parts(sites[here[0]], rows[here[0]])[1]}


def heat_of(here: Sequence[int], rows: Sequence[SiteSummary]) -> int:
    """Return how many quarters of the launch's excess the accesses of a line have, rounded up."""
    excess, total = sum(rows[i].excess or 0 for i in here), sum(row.excess or 0 for row in rows)
    return math.ceil(4 * excess / max(total, 1))


def told_apart(site: Site) -> str:
    """Tell an access from others that are written in the same place."""
    return _("line {n}", n=site.calls[0][0]) if site.calls else action(site)

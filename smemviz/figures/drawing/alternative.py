"""What a figure says to those who do not see it: ``layout.meta``, which ``assets/tables.js`` reads.

The table of a figure is made of its marks. Where rows and columns of cells are not what their axes count, the trace's
``meta`` names them: ``rows`` and ``columns``; ``words`` says what each value of z means where cells have no hover text.
``named`` keeps the bold name of each cell, where row and column do not tell which cell that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def alternative(
    sentence: str, columns: Sequence[str] = (), rows: Sequence[Sequence[str | int | float | None]] = ()
) -> dict[str, Any]:
    """Return the ``meta`` of a layout: what the figure says, and its table where its marks do not tell that."""
    table = {"table": {"columns": list(columns), "rows": [list(row) for row in rows]}} if columns else {}
    return {"says": sentence, **table}

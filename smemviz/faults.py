"""What is said of an error that is no user's mistake: enough to report it, in one line."""

from __future__ import annotations

import traceback
from pathlib import PurePath

from smemviz.version import __version__

DEBUG = "SMEMVIZ_DEBUG"  # in the environment, has the whole traceback shown
_MOST_SAID = 300  # characters of the error's own


def fault(error: BaseException) -> str:
    """Say what to report of an error."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} in {PurePath(frame.filename).name}:{frame.lineno}"
    return (
        f"a fault of smemviz {__version__}: {where}: {str(error)[:_MOST_SAID]}. Please report this line and what was "
        f"run; {DEBUG}=1 in the environment shows the whole traceback"
    )

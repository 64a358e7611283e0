"""What a project says of itself in its ``pyproject.toml``: the engine, the compute capability and the limits it wants.

[tool.smemviz]
engine = "lockstep"
cc = "8.6"
limits = { max_degree = 1, findings = 0 }
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from smemviz.errors import InputError

_ENGINES = ("auto", "gpu", "lockstep")
_LIMITS = ("max_degree", "excess", "sectors_per_request", "findings")


class Project(NamedTuple):
    """What applies where a command or a test says nothing else; ``cc`` is as ``--cc`` takes it, None for none."""

    engine: Literal["auto", "gpu", "lockstep"] = "auto"
    cc: str | None = None
    limits: Mapping[str, float] = MappingProxyType({})


def project_at(folder: Path) -> Project:
    """Return what the nearest ``pyproject.toml`` with a ``[tool.smemviz]`` says, in a folder or above it.

    Raises:
        InputError: for what it has not, or a value that does not fit.
    """
    for place in (folder, *folder.parents):
        file = place / "pyproject.toml"
        if file.is_file():
            table = _table(file)
            if table is not None:
                return _checked(file, table)
    return Project()


def _table(file: Path) -> Any:
    import tomllib

    try:
        return tomllib.loads(file.read_text("utf-8")).get("tool", {}).get("smemviz")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return None  # somebody else's, who will be told by those that it is for


def _checked(file: Path, table: Any) -> Project:
    def wrong(what: str) -> InputError:
        return InputError(f"{file}: [tool.smemviz] {what}")

    if not isinstance(table, dict):
        raise wrong("is a table of engine, cc and limits")
    if unknown := [name for name in table if name not in ("engine", "cc", "limits")]:
        raise wrong(f"has no {unknown[0]!r}; it has engine, cc and limits")
    engine, cc, limits = table.get("engine", "auto"), table.get("cc"), table.get("limits", {})
    if engine not in _ENGINES:
        raise wrong(f"engine = {engine!r}: take one of {', '.join(_ENGINES)}")
    if cc is not None and not isinstance(cc, str):
        raise wrong(f'cc = {cc!r}: write it as text, such as "9.0"')
    if not isinstance(limits, dict):
        raise wrong(f"limits is a table of {', '.join(_LIMITS)}")
    for name, most in limits.items():
        if name not in _LIMITS:
            raise wrong(f"limits has no {name!r}; it has {', '.join(_LIMITS)}")
        if not isinstance(most, int | float) or isinstance(most, bool) or most < 0:
            raise wrong(f"limits: {name} = {most!r} is no number from 0 on")
    return Project(engine, cc, limits)

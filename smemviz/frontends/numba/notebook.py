"""A notebook of Jupyter as the script that running all its cells is.

Cells stay in their order, each under a comment that numbers it, and a line stays a line. What IPython adds to Python is
left out: commands of the shell, and magics but for the code that they time, which runs once.
"""

import ast
import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from smemviz.errors import InputError
from smemviz.messages import english

NOTEBOOK = ".ipynb"

# Magics whose code is run: ``%time f(x)``, ``%timeit -n 10 f(x)``, and those of a whole cell.
_RUNNING = "time timeit prun memit lprun mprun capture smemviz"
_NAMING = ("capture", "smemviz")  # what stands behind them is no code
_RECORDED = re.compile(r"%%smemviz\s+(?P<name>[^\W\d]\w*)")
_OPTIONS = re.compile(r"\s*(?:-[a-zA-Z]+(?:\s*\d+|\s+[\w.]+(?=\s))?\s+)*")
_MAGIC = re.compile(r"(?P<indent>\s*)(?P<target>[\w.,\s]+=\s*)?(?P<mark>%%?|!!?)(?P<name>\w*)(?P<rest>.*)")
_MARKED = re.compile(r"^\s*[%!]\w", re.MULTILINE)
_HEAD = re.compile(r"# %% cell \d+")
_HELP = re.compile(r"(?P<indent>\s*)(?:\?\??\s*[\w.]+|[\w.]+\?\??)\s*")


def script_of(text: str, file: str) -> str:
    """Return the code of a notebook's cells as one script.

    Raises:
        InputError: when it is no notebook, or one in another language.
    """
    try:
        book = json.loads(text)
        cells = list(_cells(book))
        language = str(book.get("metadata", {}).get("kernelspec", {}).get("language", "python"))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise InputError(english("{path}: is not a notebook; save it in Jupyter again", path=file)) from None
    if language.lower() != "python":
        raise InputError(english("{path}: is a notebook in {language}, not in Python", path=file, language=language))
    parts = [f"# %% cell {number}\n{_runnable(cell, number)}\n" for number, cell in cells]
    displays = any(re.search(r"^\s*display\(", part, re.MULTILINE) for part in parts)
    return ("display = print  # which a notebook knows by itself\n" if displays else "") + "".join(parts)


def without_magics(text: str) -> str:
    """Return a script without what only IPython knows, which editors that run a file cell by cell take too."""
    if not _MARKED.search(text) or _is_python(text):
        return text
    plain = "\n".join(map(_plain, text.split("\n")))
    return plain if _is_python(plain) else text


def cell_lines(script: str) -> list[int]:
    """Return the lines of a script made of a notebook at which its cells begin."""
    return [number for number, line in enumerate(script.splitlines(), 1) if _HEAD.fullmatch(line)]


def _cells(book: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield the code of each cell, with its number among all; older notebooks have their cells in worksheets."""
    sheets = book.get("worksheets") or [book]
    cells = [cell for sheet in sheets for cell in sheet["cells"]]
    for number, cell in enumerate(cells, 1):
        if cell["cell_type"] == "code":
            lines = cell.get("source", cell.get("input", ""))
            yield number, lines if isinstance(lines, str) else "".join(lines)


def _runnable(cell: str, number: int) -> str:
    """Return a cell as Python; one that is none raises when it is its turn, as it does in Jupyter."""
    if _is_python(cell):
        return cell  # a line that looks like a magic is the rest of an expression
    lines = textwrap.dedent(cell).splitlines()
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%") and re.split(r"\W+", lines[first][2:])[0] not in _RUNNING.split():
        return _commented(lines)  # a cell for the shell, or one that writes a file
    plain = "\n".join(map(_plain, lines))
    if _is_python(plain):
        named = _RECORDED.match(lines[first])
        return _recorded(named["name"], plain.splitlines(), first) if named else plain
    return "\n".join([f"raise SyntaxError('cell {number} is not valid Python')", _commented(lines[1:])])


def _recorded(name: str, lines: list[str], first: int) -> str:
    """Return a cell under ``%%smemviz NAME`` as a with statement that gives the name what the cell launches."""
    tree = ast.parse("\n".join(lines))
    if len(tree.body) == 1:
        return "\n".join(lines)  # nothing but the magic
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant | ast.JoinedStr))
    within = {line for node in texts for line in range(node.lineno, node.end_lineno or 0)}
    lines[first] = f"with __import__('smemviz').recording() as {name}:  {lines[first].removeprefix('pass').strip()}"
    return "\n".join(line if at <= first or at in within else f"    {line}" for at, line in enumerate(lines))


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _commented(lines: list[str]) -> str:
    return "\n".join(f"# {line}" for line in lines)


def _plain(line: str) -> str:
    """Return a line without what only IPython knows."""
    match = _HELP.fullmatch(line)
    if match:
        return f"{match['indent']}pass  # {line.strip()}"
    match = _MAGIC.fullmatch(line)
    if not match:
        return line
    target, rest = match["target"] or "", match["rest"]
    if match["mark"].startswith("%") and match["name"] in _RUNNING.split():
        if match["name"] not in _NAMING and rest.strip():
            return match["indent"] + target + _OPTIONS.sub("", rest + " ", count=1).strip()
        return f"{match['indent']}pass  # {line.strip()}"
    if match["mark"] == "%" and not match["name"]:
        return line  # the operator, at the start of a line
    statement = f"{target}None" if target else "pass"
    return f"{match['indent']}{statement}  # {line.strip()}"

"""The modules beside a kernel file that it imports: what a run depends on besides the file itself."""

import ast
import hashlib
import importlib
import linecache
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path


def hashes_of_imports(source: str, folder: Path) -> tuple[tuple[str, str], ...]:
    """Return the path and the SHA-256 of every module in a folder that a source imports, or that those import."""
    digests: dict[Path, str] = {}
    waiting = list(_files(_imported(source), folder))
    while waiting:
        path = waiting.pop()
        if path in digests:
            continue
        try:
            content = path.read_bytes()
            names = _imported(content)
        except (OSError, SyntaxError, ValueError):  # the import says what is wrong
            continue
        digests[path] = hashlib.sha256(content).hexdigest()
        waiting.extend(_files(names, folder))
    return tuple(sorted((str(path), digest) for path, digest in digests.items()))


def forget(paths: Iterable[str]) -> None:
    """Let the next import read these files anew."""
    gone = set(paths)
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) in gone:
            del sys.modules[name]
    for path in gone:
        linecache.checkcache(path)
    importlib.invalidate_caches()


@lru_cache(64)
def _imported(source: str | bytes) -> tuple[str, ...]:
    """Return the modules that a source names in its imports; every look at a run asks."""
    names: dict[str, None] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names |= dict.fromkeys([module, *(f"{module}.{alias.name}".strip(".") for alias in node.names)])
    return tuple(names)


def _files(modules: Iterable[str], folder: Path) -> Iterator[Path]:
    """Return the files in a folder that modules are, those of packages on the way included."""
    for name in modules:
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            place = folder.joinpath(*parts[:depth])
            yield from (path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file())

"""What ``tools/messages.py`` finds in the code, for tests."""

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]


def tool() -> ModuleType:
    """Return ``tools/messages.py``, which is in no package."""
    name = "smemviz_tools_messages"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / "messages.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@cache
def extracted() -> list[Any]:
    """Return every message of the code, which takes seconds to find."""
    return list(tool().extracted())


@cache
def messages_said() -> tuple[str | tuple[str, str], ...]:
    """Return the messages of texts that are recorded and printed in English, as they stand in the code now."""
    sources = (path.read_text("utf-8") for path in sorted((ROOT / "smemviz").rglob("*.py")))
    found = (tool().in_python(source) for source in sources if "english(" in source)
    return tuple(dict.fromkeys(message for each in found for _line, message, _context, notes in each if notes))

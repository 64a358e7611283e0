"""Write the pages of ``docs`` that come from the code: ``python tools/docs.py``, or with ``--check`` compare.

What the program says of itself, in its parsers, docstrings, tables and catalogues, is written once, there.
"""

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

from feature_tables import features

import smemviz
from smemviz import errors
from smemviz.cli import ipython
from smemviz.cli.ending import FAILED
from smemviz.cli.main import VERBS
from smemviz.engines.options import LOG_BYTES
from smemviz.engines.sandbox.sandbox_limits import SandboxLimits
from smemviz.errors import DEBUG
from smemviz.i18n import speaking
from smemviz.model.hardware.compute_capability import KIB, known
from smemviz.paths import cute_gallery, gallery, hopper_gallery, kernels_dir, recording_for, triton_gallery
from smemviz.recordings import data, findings, measured
from smemviz.testing.fixture import Smem
from smemviz.views.glossary import numbers
from smemviz.views.published_findings import published

DOCS = Path(__file__).resolve().parents[1] / "docs"
_MADE = "<!-- Written by tools/docs.py from the code. -->"
_MIB = 1024 * KIB
_WRITTEN_WITH_SIGNS = ("__getitem__", "__iter__", "__len__", "__contains__")
_LIMITS = (
    "Counts are exact over the whole grid of a launch of any size, in both engines. What is logged request by request, "
    "which the pictures need, is everything where it fits the log; else the first, the middle and the last block, or "
    "those that `--blocks 0,5,8-11` names. A recording says how many requests are missing from its log.",
    "On Linux a `main()` that runs in lockstep gets 8 GiB, then an error that names the line; only Linux holds a limit "
    "of memory, so on other systems a server open to others has no editor.",
    "On the GPU a small launch (up to 65,536 threads, 64 MiB of arrays and 1,000 turns of its loops) is run in "
    "lockstep first, for at most five seconds in all. What that finds is reported, and a launch that would go "
    "out of bounds or diverge at a barrier does not start. Larger launches are not checked.",
    "Caches are not modelled: sectors are what requests ask for, not what reaches DRAM. What an atomic update of "
    "floating-point numbers costs depends on the data, so no number is given.",
)


def cli() -> str:
    """Write every verb with its help and its options."""
    parts = ["# Command line", "`smemviz [PATH ...]` opens the dashboard; `smemviz VERB` does what is listed here."]
    parts.append("\n".join(f"- [`{verb}`](#smemviz-{verb})" for verb in VERBS))
    for verb in ("dashboard", *VERBS):
        module = import_module(f"smemviz.cli.verbs.{verb}")
        parser = argparse.ArgumentParser(add_help=False)
        module.add_arguments(parser)
        parts.append("## `smemviz`" if verb == "dashboard" else f"## `smemviz {verb}`")
        parts.append(_text(module.__doc__))
        parts.append(_table(("argument", "what it does"), [_argument(one) for one in parser._actions]))
    parts.append(
        "## Exit codes\n\n"
        + _table(
            ("code", "meaning"),
            [
                ("0", "done"),
                (
                    "1",
                    "a check failed: `run` found a mistake in a kernel (not with `--no-fail`), `verify` a difference "
                    "it cannot explain, `calibrate` a deviation, `diff` a launch that costs more or a mistake that is "
                    "new, `suggest` a suggestion that failed, `sweep` a size at which `main()` failed",
                ),
                (str(errors.InputError.exit_code), "bad usage or bad input, said in one line: what, where, what to do"),
                (str(errors.MissingError.exit_code), "this machine lacks what was asked for"),
                (str(FAILED), f"smemviz itself failed, said in a line to report; `{DEBUG}=1` shows the traceback"),
                ("130, 143", "stopped with Ctrl-C, or SIGTERM; `run` keeps what it has recorded"),
            ],
        )
    )
    return "\n\n".join(parts)


def _argument(action: argparse.Action) -> tuple[str, str]:
    metavar = action.metavar if isinstance(action.metavar, str) else (action.dest.upper() if action.nargs != 0 else "")
    if action.choices is not None and action.metavar is None:
        metavar = "{" + ",".join(map(str, action.choices)) + "}"
    names = [f"{name} {metavar}".strip() for name in action.option_strings] or [metavar]
    return ", ".join(f"`{name}`" for name in names), _cell(action.help or "")


def python_api() -> str:
    """Write the public names of the package with their signatures."""
    parts = ["# Python", "What `import smemviz` offers. All else in the package may change with any version."]
    for name in smemviz.__all__:
        value = getattr(smemviz, name)
        if inspect.isfunction(value):
            parts += [f"## `smemviz.{name}`", f"```text\n{name}{_signature(value)}\n```", _text(value.__doc__)]
        elif inspect.isclass(value):
            parts += [f"## `smemviz.{name}`", _text(value.__doc__), _methods(value), *_at_length(value)]
        elif inspect.ismodule(value):
            rows = [
                (f"`{one.__name__}`", _cell(_first(one.__doc__)))
                for one in vars(value).values()
                if inspect.isclass(one) and issubclass(one, errors.SmemvizError)
            ]
            parts += [f"## `smemviz.{name}`", _text(value.__doc__), _table(("error", "when"), rows)]
    parts += ["## `%%smemviz`", _text(ipython.__doc__), "```text\n%load_ext smemviz\n```"]
    parts += ["```text\n%%smemviz mine --engine lockstep\ntranspose[grid, block](out, given)\n```"]
    parts += [_table(("argument", "what it does"), [_argument(one) for one in ipython.options()._actions])]
    return "\n\n".join(parts)


def pytest_plugin() -> str:
    """Write the fixture, the marker and the options of the pytest plugin."""
    return "\n\n".join(
        [
            "# pytest",
            "With smemviz installed every test may ask for the fixture `smem`. How to use it is in "
            "[a budget in pytest](../how-to/pytest-budget.md).",
            "## The fixture `smem`",
            _text(Smem.__doc__),
            _methods(Smem),
            "## The marker `smem_budget`",
            "`@pytest.mark.smem_budget(max_degree=1, findings=0)` holds every launch that the test records to "
            "[its limits](../how-to/pytest-budget.md#the-limits). `kernel` restricts it to the launches of one kernel, "
            "`cc` counts for another compute capability.",
            "## The option `--smem-report=DIR`",
            "Writes what the tests recorded to `DIR`, and `DIR/index.html` about those that failed.",
        ]
    )


def recording_format() -> str:
    """Write what a recording holds."""
    kinds = (data.Launch, data.Site, data.ArrayInfo, data.Requests, data.Totals, measured.Timing, measured.SiteHardware)
    parts = [
        "# Recordings",
        "A recording, `*.smem.npz`, is a zip of one JSON file and plain NumPy arrays. Everything in it is checked "
        "before it is used, so a file from a stranger can be opened. `smemviz.load` reads it; these are its parts.",
        "## `Recording`",
        _fields(smemviz.Recording),
    ]
    for kind in (*kinds, measured.Device, findings.Finding):
        parts += [f"## `{kind.__name__}`", _fields(kind)]
    return "\n\n".join(parts)


def executed() -> str:
    """Write what lockstep executes of CUDA."""
    return features(_table, _cell)


def all_numbers() -> str:
    """Write every number that is shown."""
    launch = smemviz.load(kernels_dir() / "recordings" / "h200" / "square.smem.npz")["set_row_read_col"]
    parts = ["# Numbers", "What each number means and where it comes from; the dashboard has the same at `/numbers`."]
    for section in numbers(launch):
        rows = [(", ".join(one.names), _cell(one.meaning), _cell(one.source)) for one in section.numbers]
        parts += [f"## {section.title}", _table(("number", "meaning", "source"), rows)]
    return "\n\n".join(parts)


def compute_capabilities() -> str:
    """Write the rules of every compute capability with what they rest on."""
    rows = []
    for one in known():
        lanes = ", ".join(f"{width} B: {count}" for width, count in one.phases.items())
        wide = ", ".join(f"{width} B {basis.kind}" for width, basis in one.wide.items())
        per_block = f"{one.static_shared // KIB} / {one.opt_in_shared // KIB} KiB"
        rows.append((one.name, one.family, one.basis.kind, wide, lanes, per_block,
                     f"{one.multiprocessor.shared_bytes // KIB} KiB"))  # fmt: skip
    heads = (
        *("compute capability", "family", "banks rest on", "wide accesses rest on", "lanes served together"),
        *("shared memory per block, static / opt-in", "per multiprocessor"),
    )
    return "\n\n".join(
        [
            "# Compute capabilities",
            "*measured*: counted by Nsight Compute on an H200, and the same on an H100. "
            "*documented*: in NVIDIA's documentation. *assumed*: neither; "
            "the rule of the H200 is taken. [Why](../explanation/rules.md).",
            _table(heads, rows),
        ]
    )


def limits() -> str:
    """Write the limits that are numbers in the code."""
    editor = SandboxLimits()
    rows = [
        ("log of one run", f"{LOG_BYTES // _MIB} MiB, about 250,000 requests; what is beyond is counted, not logged"),
        ("text in the editor", f"{editor.source_bytes // KIB} KiB, {editor.nodes:,} nodes of its syntax tree"),
        ("run of a text in the editor", f"{editor.seconds:g} s, {editor.memory_bytes // (1024 * _MIB)} GiB (Linux)"),
        ("launches of a text in the editor", f"{editor.launches}"),
        ("array of the host in the editor", f"{editor.array_bytes // _MIB} MiB"),
        ("log of a text in the editor", f"{editor.log_bytes // _MIB} MiB"),
        ("threads of a launch in the editor", f"{editor.launch.threads:,}"),
    ]
    return "\n\n".join(["# Limits", _table(("what", "most"), rows), *_LIMITS])


_KERNEL = re.compile(r"(?:cuda|triton)\.jit|cute\.kernel")


def kernels() -> str:
    """Write the kernel files of the gallery."""
    parts = ["# Gallery", "The kernel files that smemviz opens with; their docstrings."]
    written = (path.with_suffix(".py") for path in cute_gallery())
    for path in (*gallery(), *triton_gallery(), *written):
        tree = ast.parse(path.read_text("utf-8"))
        rows = [
            (f"`{one.name}`", _cell(_first(ast.get_docstring(one))))
            for one in tree.body
            if isinstance(one, ast.FunctionDef) and any(map(_KERNEL.search, map(ast.unparse, one.decorator_list)))
        ]
        parts += [
            f"## `{path.relative_to(kernels_dir()).as_posix()}`",
            _text(ast.get_docstring(tree)),
            _table(("kernel", "what it does"), rows),
        ]
    for path in hopper_gallery():
        text = path.read_text("utf-8")
        head = re.sub(r"^// ?", "", text.partition("\n\n")[0], flags=re.MULTILINE)
        found = re.findall(r"((?:^//.*\n)+)__global__[^(]*(?:\(\w+\))?\s+(\w+)\(", text, re.MULTILINE)
        rows = [(f"`{name}`", _cell(" ".join(re.findall(r"// (.*)", said)))) for said, name in found]
        parts += [
            f"## `{path.relative_to(kernels_dir()).as_posix()}`",
            head,
            _table(("kernel", "what it does"), rows),
        ]
    return "\n\n".join(parts)


def published_figures() -> str:
    """Write what others published beside what was recorded on an H200."""
    parts = [
        "# Published figures",
        "What others published of the work that kernels of the gallery do, beside the recordings made on an H200.",
    ]
    for path in gallery():
        stored = recording_for(path)
        rows = published(smemviz.load(stored)) if stored else ()
        if rows:
            cells = [tuple(map(_cell, (one.what, one.published, one.hardware, one.ours, one.note))) for one in rows]
            heads = ("what", "published", "on", "recorded on an H200", "remark")
            parts += [f"## `{path.name}`", _table(heads, cells)]
    return "\n\n".join(parts)


PAGES: Mapping[str, Callable[[], str]] = {
    "explanation/published.md": published_figures,
    "reference/cli.md": cli,
    "reference/compute-capabilities.md": compute_capabilities,
    "reference/features.md": executed,
    "reference/gallery.md": kernels,
    "reference/limits.md": limits,
    "reference/numbers.md": all_numbers,
    "reference/pytest.md": pytest_plugin,
    "reference/python.md": python_api,
    "reference/recordings.md": recording_format,
}


def _text(doc: str | None) -> str:
    """Write a docstring as Markdown: its paragraphs, and what is indented as it stands."""
    found = inspect.cleandoc(doc or "").replace("``", "`")
    paragraphs = [
        f"```text\n{inspect.cleandoc(one)}\n```" if one.startswith("  ") or "+--" in one else _example(one)
        for one in found.split("\n\n")
    ]
    return "\n\n".join(_listed(one) for one in paragraphs)


def _example(paragraph: str) -> str:
    """Write ``Example:`` as code, which the tests run."""
    head, _, code = paragraph.partition("\n")
    return f"```python\n{inspect.cleandoc(code)}\n```" if head == "Example:" else paragraph


def _listed(paragraph: str) -> str:
    """Write ``Raises:`` and its like as a list."""
    head, _, rest = paragraph.partition("\n")
    if not head.endswith(":") or not rest.startswith("    "):
        return paragraph
    items: list[str] = []
    for line in rest.splitlines():
        if line.startswith("        ") and items:
            items[-1] += f" {line.strip()}"
        else:
            items.append(line.strip())
    return "\n".join([head, "", *(f"- {item}" for item in items)])


def _first(doc: str | None) -> str:
    return inspect.cleandoc(doc or "").split("\n\n")[0].replace("``", "`")


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").replace("%%", "%").split())


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _signature(function: Callable[..., Any]) -> str:
    parameters = []
    for one in inspect.signature(function).parameters.values():
        default = "" if one.default is inspect.Parameter.empty else f"={one.default!r}"
        star = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(one.kind, "")
        if one.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        if one.name != "self":
            parameters.append(f"{star}{one.name}{default}")
    return f"({', '.join(parameters)})"


def _methods(kind: type) -> str:
    rows = []
    parts = {name: value for one in reversed(kind.__mro__[:-1]) for name, value in vars(one).items()}
    for name, value in parts.items():
        if name.startswith("_") and name not in _WRITTEN_WITH_SIGNS:
            continue
        if isinstance(value, property):
            rows.append((f"`{name}`", _cell(_first(value.__doc__))))
        elif inspect.isfunction(value):
            rows.append((f"`{name}{_signature(value)}`", _cell(_first(value.__doc__))))
    return _table(("name", "what it does"), rows)


def _at_length(kind: type) -> list[str]:
    """Write the methods that have more to say than a sentence."""
    return [
        part
        for name, value in vars(kind).items()
        if inspect.isfunction(value) and not name.startswith("_") and "\n\n" in (value.__doc__ or "")
        for part in (
            f"### `{kind.__name__}.{name}`",
            f"```text\n{name}{_signature(value)}\n```",
            _text(value.__doc__),
        )
    ]


def _fields(kind: type) -> str:
    rows = [(f"`{one.name}`", f"`{_cell(str(one.type))}`") for one in fields(kind)]
    name = f"smemviz.{kind.__name__}"
    is_public = kind.__name__ in smemviz.__all__
    text = f"[`{name}`](python.md#{name.replace('.', '').lower()})." if is_public else _text(kind.__doc__)
    return f"{text}\n\n{_table(('field', 'type'), rows)}"


def written() -> dict[str, str]:
    """Return the pages by their names."""
    with speaking("en"):
        return {name: f"{_MADE}\n\n{page()}\n" for name, page in PAGES.items()}


def main(arguments: list[str]) -> int:
    """Write the pages; with ``--check`` only tell whether they are as they would be written."""
    pages = written()
    if arguments == ["--check"]:
        old = [name for name, text in pages.items() if (DOCS / name).read_text("utf-8") != text]
        for name in old:
            print(f"docs/{name} is old; python tools/docs.py writes it")
        return 1 if old else 0
    for name, text in pages.items():
        (DOCS / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

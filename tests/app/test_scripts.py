"""What the scripts of the pages and the server know of each other, and of Dash."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import smemviz
from smemviz.app import ids
from smemviz.app.factory import create_app
from smemviz.paths import assets_dir

PRODUCT = Path(smemviz.__file__).parent
SCRIPTS = {path.name: path.read_text("utf-8") for path in sorted(assets_dir().glob("*.js"))}
SOURCES = {path.relative_to(PRODUCT).as_posix(): path.read_text("utf-8") for path in sorted(PRODUCT.rglob("*.py"))}
LITERAL = re.compile(
    r"""(?:getElementById|set_props|\bat)\(["'`]([\w-]+)|\.id === ["'`]([\w-]+)|\btype: ["'`]([\w-]+)["'`], name\b"""
    r"""|(?:querySelector|querySelectorAll|closest|matches)\((?:["'`]|[^()]*[ ,])#([a-z][\w-]*)"""
)


def test_what_is_private_to_dash_is_named_once() -> None:
    found = Counter(
        (name, place)
        for place, text in (SCRIPTS | SOURCES).items()
        for name in re.findall(r"_dashprivate_\w+|/_dash-[a-z-]+|\b_namespace\b|\b_callback_list\b", text)
    )
    assert found == {
        ("_dashprivate_pushstate", "base.js"): 1,
        ("/_dash-component-suites", "export.js"): 1,
        ("/_dash-update-component", "app/server/payload.py"): 1,
        ("_namespace", "app/components/written_html.py"): 3,
    }
    assert [name for name, text in SCRIPTS.items() if "pushState" in text] == ["base.js"]


def test_scripts_look_for_nothing_by_an_id_of_their_own() -> None:
    found = {
        name: sorted({next(filter(None, literal)) for literal in LITERAL.findall(text)})
        for name, text in SCRIPTS.items()
    }
    assert {name: literals for name, literals in found.items() if literals} == {
        "base.js": ["names"],  # by which all others are handed over
        "language.js": ["messages"],  # which offline files have as well
        "export.js": ["figure", "messages"],  # of the file that it writes
    }


def test_every_id_that_scripts_are_handed_is_laid_out_and_looked_for() -> None:
    used = {name for text in SCRIPTS.values() for name in re.findall(r"\bids\.(\w+)", text)}
    laid_out = {name for place, text in SOURCES.items() for name in re.findall(r"\bids\.([A-Z_]+)\b", text)}
    assert used == set(ids.handed_over())
    assert laid_out == set(ids.handed_over())


def test_every_callback_of_a_script_is_connected_and_there() -> None:
    connected = {
        (one["clientside_function"]["namespace"], one["clientside_function"]["function_name"])
        for one in create_app().server.test_client().get("/_dash-dependencies").json
        if one["clientside_function"]
    }
    there = {
        (namespace, name)
        for text in SCRIPTS.values()
        for namespace, body in re.findall(r"dash_clientside\.(\w+) = \{\n(.*?)\n  \};", text, re.DOTALL)
        for name in re.findall(r"^    (?:async )?(\w+)\(", body, re.MULTILINE)
    }
    assert connected == there

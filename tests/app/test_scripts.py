"""What the scripts of the pages and the server know of each other, and what the server sends for them to draw."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers.callbacks import CALLBACKS, asking_for, send

import smemviz
from smemviz.app import ids
from smemviz.app.factory import create_app
from smemviz.paths import assets_dir, kernels_dir
from smemviz.version import __version__

PRODUCT = Path(smemviz.__file__).parent
SCRIPTS = {path.name: path.read_text("utf-8") for path in sorted(assets_dir().glob("*.js"))}
SOURCES = {path.relative_to(PRODUCT).as_posix(): path.read_text("utf-8") for path in sorted(PRODUCT.rglob("*.py"))}
LITERAL = re.compile(
    r"""(?:getElementById|set_props|\bat)\(["'`]([\w-]+)|\.id === ["'`]([\w-]+)|\btype: ["'`]([\w-]+)["'`], name\b"""
    r"""|(?:querySelector|querySelectorAll|closest|matches)\((?:["'`]|[^()]*[ ,])#([a-z][\w-]*)"""
)


def test_what_is_private_to_dash_is_named_once():
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


def test_scripts_look_for_nothing_by_an_id_of_their_own():
    found = {
        name: sorted({next(filter(None, literal)) for literal in LITERAL.findall(text)})
        for name, text in SCRIPTS.items()
    }
    assert {name: literals for name, literals in found.items() if literals} == {
        "base.js": ["names"],  # by which all others are handed over
        "language.js": ["messages"],  # which offline files have as well
        "export.js": ["figure", "messages"],  # of the file that it writes
    }


def test_every_id_that_scripts_are_handed_is_laid_out_and_looked_for():
    used = {name for text in SCRIPTS.values() for name in re.findall(r"\bids\.(\w+)", text)}
    laid_out = {name for place, text in SOURCES.items() for name in re.findall(r"\bids\.([A-Z_]+)\b", text)}
    assert used == set(ids.handed_over())
    assert laid_out == set(ids.handed_over())


def test_every_callback_of_a_script_is_connected_and_there():
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


NOWHERE = {"path": "/nowhere"}
ROUTE = asking_for(NOWHERE)


@pytest.fixture(scope="module")
def app():
    made = create_app()
    made.server.config["PROPAGATE_EXCEPTIONS"] = False
    return made


@pytest.fixture(scope="module")
def client(app):
    return app.server.test_client()


def test_what_a_page_sends_is_answered(client):
    assert client.post(CALLBACKS, json=ROUTE).status_code == 200


GARBAGE = {
    "a list": [],
    "a number": 5,
    "nothing": {},
    "an output that is none": ROUTE | {"output": "nothing.children"},
    "an output that is no text": ROUTE | {"output": {}},
    "other outputs": ROUTE | {"outputs": {"id": "page", "property": "title"}},
    "no outputs": ROUTE | {"outputs": None},
    "too few inputs": ROUTE | {"inputs": []},
    "other inputs": ROUTE | {"inputs": ROUTE["state"][:1]},
    "inputs that are none": ROUTE | {"inputs": ["place"]},
    "state that is no list": ROUTE | {"state": 7},
    "triggers that are no texts": ROUTE | {"changedPropIds": [{}]},
    "a place that is none": asking_for("/"),
    "a path that is no text": asking_for({"path": 3}),
    "a query that is a list": asking_for(NOWHERE, run=["file"]),
    "a query that is no query": asking_for(NOWHERE, run=1.5),
    "a query of numbers": asking_for(NOWHERE, run={"IPAD": 1}),
    "a look that is a text": asking_for(NOWHERE, look="theme"),
    "half a letter": asking_for(NOWHERE, run={"file": "\ud800"}),
    "a query longer than a URL": asking_for(NOWHERE, run={"file": "square", "x": "y" * 20_000}),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_what_no_page_sends_is_refused_in_a_line(client, name):
    answer = client.post(CALLBACKS, data=json.dumps(GARBAGE[name]), content_type="application/json")
    assert answer.status_code == 400
    assert answer.text == "smemviz: no page of this dashboard sends that\n"


@pytest.mark.parametrize("text", ["", "{", "[" * 200_000, "\xff"])
def test_what_is_no_json_is_refused(client, text):
    answer = client.post(CALLBACKS, data=text.encode("latin-1"), content_type="application/json")
    assert answer.status_code == 400


RUN = {"run.data": {}, "look.data": {}, "place.data": {"path": "/lab"}, "theme.data": "light", "drawn-run.data": {}}


@pytest.mark.parametrize(
    ("holding", "values", "ids"),
    [
        ("editor-start.data", {"editor-choice.value": "no such file"}, []),
        ("product-shown.data", {}, [{"type": "product-control", "name": "NOTHING"}]),
        ("measure-area.hidden", {"measure.n_clicks": 1, "drawn-run.data": {"file": "nothing"}}, []),
        ("suggest-panel.hidden", {"suggest.n_clicks": 1, "drawn-run.data": {"file": "square", "NOPE": "1"}}, []),
        ("page.children", {"place.data": {"path": "/compare"}}, []),
        ("page.children", {"place.data": {"path": "/kernel"}, "run.data": {"file": "square"}}, []),
        ("knobs.children", {"run.data": {"file": "text-mine"}}, []),
    ],
)
def test_what_a_page_could_hold_is_answered(app, holding, values, ids):
    clicked = [name for name in values if name.endswith("n_clicks")]
    assert send(app, holding, RUN | values, ids, clicked).status_code == 200


_SOMETHING: list[Any] = [None, True, 7, -1.5, float("inf"), "text", "\ud800", [], [["x"]], {}, {"x": 1}, {"file": "x"}]


@pytest.mark.exhaustive
@pytest.mark.parametrize("followed", [False, True])
def test_whatever_a_property_holds_is_answered_or_refused(followed):
    """Every property that a callback asks for, with a value of every kind that JSON has."""
    app = create_app([kernels_dir() / "square.py"], follow=True) if followed else create_app()
    app.server.config["PROPAGATE_EXCEPTIONS"] = False
    for output, known in app.callback_map.items():
        asked = [*known["inputs"], *known["state"]] if "callback" in known else []
        for name in {f"{one['id']}.{one['property']}" for one in asked if not one["id"].startswith("{")}:
            for value in _SOMETHING:
                answer = send(app, output, RUN | {"shown-run.data": None, name: value}, changed=[name])
                assert answer.status_code in (200, 204, 400), (output, name, value)


def test_the_number_of_a_block_is_one(app):
    for text, status in (("0", 200), ("x", 400), ("9" * 5000, 400)):
        values = RUN | {"drawn-run.data": {"file": "square"}, "shown-block.data": text}
        assert send(app, "why.html", values).status_code == status


def test_a_pattern_matches_the_same_everywhere(app):
    control = {"type": "lab", "side": "A", "name": "shape", "at": 0}
    assert send(app, "lab-shown.data", RUN, [control]).status_code == 200
    assert send(app, "lab-shown.data", RUN, [control], wanted=[control, control]).status_code == 400


@pytest.mark.parametrize("launch", ["square:a:" + "9" * 5000, "square:a:\u00b2", "square:", ":", "\u0663"])
def test_a_launch_that_is_none_is_a_line_also_in_the_csv(client, launch):
    answer = client.get("/compare.csv", query_string={"launch": launch})
    assert answer.status_code == 400
    assert answer.text.count("\n") == 1


@pytest.mark.parametrize("path", ["x/y", "dash/no-such.js", "plotly/../../setup.py", "sys/x"])
def test_a_script_that_no_page_has_is_not_there(client, path, capfd):
    assert client.get(f"/_dash-component-suites/{path}").status_code == 404
    assert capfd.readouterr().err == ""


def test_an_error_of_its_own_is_a_line_for_who_asked_and_one_to_report(capfd, monkeypatch):
    server = create_app().server
    server.add_url_rule("/fails", "fails", lambda: 1 // 0)
    answer = server.test_client().get("/fails")
    assert (answer.status_code, answer.mimetype) == (500, "text/plain")
    assert answer.text == "smemviz failed on this; what it printed says where\n"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"smemviz: a fault of smemviz {__version__}: ZeroDivisionError in test_scripts.py:")
    monkeypatch.setenv("SMEMVIZ_DEBUG", "1")
    server.test_client().get("/fails")
    assert "Traceback" in capfd.readouterr().err

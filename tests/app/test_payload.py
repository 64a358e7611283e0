"""Whatever is sent to the dashboard: what no page sends is refused, and what a page may hold never ends in a 500."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dash import Dash
from flask.testing import FlaskClient

from smemviz.app.factory import create_app

CALLBACKS = "/_dash-update-component"
ROUTE: dict[str, Any] = {
    "output": "page.children",
    "outputs": {"id": "page", "property": "children"},
    "inputs": [{"id": "place", "property": "data", "value": {"path": "/nowhere"}}],
    "state": [{"id": "run", "property": "data", "value": {}}, {"id": "look", "property": "data", "value": {}}],
    "changedPropIds": ["place.data"],
}


@pytest.fixture(scope="module")
def app() -> Dash:
    made = create_app()
    made.server.config["PROPAGATE_EXCEPTIONS"] = False
    return made


@pytest.fixture(scope="module")
def client(app: Dash) -> FlaskClient:
    return app.server.test_client()


def routed(**changes: Any) -> dict[str, Any]:
    """Return what asks for a page, changed."""
    return json.loads(json.dumps(ROUTE)) | changes


def stored(name: str, value: Any) -> dict[str, Any]:
    """Return what asks for a page, with another value in a store."""
    asked = routed()
    one = next(one for one in (*asked["inputs"], *asked["state"]) if one["id"] == name)
    one["value"] = value
    return asked


def test_what_a_page_sends_is_answered(client: FlaskClient) -> None:
    assert client.post(CALLBACKS, json=ROUTE).status_code == 200


GARBAGE = {
    "a list": [],
    "a number": 5,
    "nothing": {},
    "an output that is none": routed(output="nothing.children"),
    "an output that is no text": routed(output={}),
    "other outputs": routed(outputs={"id": "page", "property": "title"}),
    "no outputs": routed(outputs=None),
    "too few inputs": routed(inputs=[]),
    "other inputs": routed(inputs=ROUTE["state"][:1]),
    "inputs that are none": routed(inputs=["place"]),
    "state that is no list": routed(state=7),
    "triggers that are no texts": routed(changedPropIds=[{}]),
    "a place that is none": stored("place", "/"),
    "a path that is no text": stored("place", {"path": 3}),
    "a query that is a list": stored("run", ["file"]),
    "a query that is no query": stored("run", 1.5),
    "a query of numbers": stored("run", {"IPAD": 1}),
    "a look that is a text": stored("look", "theme"),
    "half a letter": stored("run", {"file": "\ud800"}),
    "a query longer than a URL": stored("run", {"file": "square", "x": "y" * 20_000}),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_what_no_page_sends_is_refused_in_a_line(client: FlaskClient, name: str) -> None:
    answer = client.post(CALLBACKS, data=json.dumps(GARBAGE[name]), content_type="application/json")
    assert answer.status_code == 400
    assert answer.text == "smemviz: no page of this dashboard sends that\n"


@pytest.mark.parametrize("text", ["", "{", "[" * 200_000, "\xff"])
def test_what_is_no_json_is_refused(client: FlaskClient, text: str) -> None:
    answer = client.post(CALLBACKS, data=text.encode("latin-1"), content_type="application/json")
    assert answer.status_code == 400


def send(app: Dash, client: FlaskClient, holding: str, values: dict[str, Any], ids: list[dict[str, Any]]) -> int:
    """Send a callback, the first that puts out a property, values for its inputs; return the status."""
    output = next(name for name, known in app.callback_map.items() if holding in name and "callback" in known)
    names = output.strip(".").split("...") if output.startswith("..") else [output]

    def filled(one: dict[str, str]) -> Any:
        if one["id"].startswith("{"):
            return [{"id": name, "property": one["property"], "value": name} for name in ids]
        return {**one, "value": values.get(f"{one['id']}.{one['property']}")}

    outputs = [filled(dict(zip(("id", "property"), name.rsplit(".", 1), strict=True))) for name in names]
    known = app.callback_map[output]
    asked = {
        "output": output,
        "outputs": outputs if output.startswith("..") else outputs[0],
        "inputs": list(map(filled, known["inputs"])),
        "state": list(map(filled, known["state"])),
        "changedPropIds": [name for name in values if name.endswith("n_clicks")],
    }
    return client.post(CALLBACKS, json=asked).status_code


RUN = {"run.data": {}, "look.data": {}, "place.data": {"path": "/lab"}, "theme.data": "light", "drawn-run.data": {}}


@pytest.mark.parametrize(
    ("holding", "values", "ids"),
    [
        ("editor-start.data", {"editor-choice.value": "no such file"}, []),
        ("product-shown.data", {}, [{"type": "product-control", "name": "NOTHING"}]),
        ("thumbnail", {}, [{"type": "thumbnail", "file": 0}]),
        ("measure-area.hidden", {"measure.n_clicks": 1, "drawn-run.data": {"file": "nothing"}}, []),
        ("suggest-panel.hidden", {"suggest.n_clicks": 1, "drawn-run.data": {"file": "square", "NOPE": "1"}}, []),
        ("page.children", {"place.data": {"path": "/compare"}}, []),
        ("page.children", {"place.data": {"path": "/kernel"}, "run.data": {"file": "square"}}, []),
        ("knobs.children", {"run.data": {"file": "text-mine"}}, []),
    ],
)
def test_what_a_page_could_hold_is_answered(
    app: Dash, client: FlaskClient, holding: str, values: dict[str, Any], ids: list[dict[str, Any]]
) -> None:
    assert send(app, client, holding, RUN | values, ids) == 200


def test_the_number_of_a_block_is_one(app: Dash, client: FlaskClient) -> None:
    for text, status in (("0", 200), ("x", 400), ("9" * 5000, 400)):
        values = RUN | {"drawn-run.data": {"file": "square"}, "shown-block.data": text}
        assert send(app, client, "why.html", values, []) == status


def test_a_pattern_matches_the_same_everywhere(app: Dash, client: FlaskClient) -> None:
    output = next(name for name in app.callback_map if "thumbnail" in name)
    one = {"type": "thumbnail", "file": "square"}
    asked = {
        "output": output,
        "outputs": [{"id": one, "property": "figure"}, {"id": one, "property": "figure"}],
        "inputs": [{"id": "theme", "property": "data", "value": "light"}],
        "state": [[{"id": one, "property": "id", "value": one}]],
        "changedPropIds": ["theme.data"],
    }
    assert client.post(CALLBACKS, json=asked).status_code == 400


@pytest.mark.parametrize("launch", ["square:a:" + "9" * 5000, "square:a:\u00b2", "square:", ":", "\u0663"])
def test_a_launch_that_is_none_is_a_line_also_in_the_csv(client: FlaskClient, launch: str) -> None:
    answer = client.get("/compare.csv", query_string={"launch": launch})
    assert answer.status_code == 400
    assert answer.text.count("\n") == 1


@pytest.mark.parametrize("path", ["x/y", "dash/no-such.js", "plotly/../../setup.py", "sys/x"])
def test_a_script_that_no_page_has_is_not_there(
    client: FlaskClient, path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert client.get(f"/_dash-component-suites/{path}").status_code == 404
    assert capfd.readouterr().err == ""

"""What the pages of a dashboard send to their server."""

from collections.abc import Mapping, Sequence
from typing import Any

from dash import Dash
from werkzeug.test import TestResponse

CALLBACKS = "/_dash-update-component"


def asking_for(place: object, run: object = {}, look: object = {}) -> dict[str, Any]:
    """Return what asks for the page at a place, of a URL that says this of the run and of the look."""
    stores = {"place": place, "run": run, "look": look}
    first, *others = ({"id": name, "property": "data", "value": value} for name, value in stores.items())
    asked = {"output": "page.children", "outputs": {"id": "page", "property": "children"}, "inputs": [first]}
    return asked | {"state": others, "changedPropIds": ["place.data"]}


def send(
    app: Dash,
    holding: str,
    values: Mapping[str, object],
    ids: Sequence[object] = (),
    changed: Sequence[str] = (),
    headers: Mapping[str, str] = {},
    wanted: Sequence[object] | None = None,
) -> TestResponse:
    """Send the first callback that puts out a property, as a page that has these values.

    ``ids`` fill its patterns, ``wanted`` those of its outputs where they are others.
    """
    output, known = next((name, one) for name, one in app.callback_map.items() if holding in name and "callback" in one)
    names = output.strip(".").split("...") if output.startswith("..") else [output]

    def filled(one: dict[str, str], ids: Sequence[object] = ids) -> Any:
        if one["id"].startswith("{"):
            return [{"id": name, "property": one["property"], "value": name} for name in ids]
        return {**one, "value": values.get(f"{one['id']}.{one['property']}")}

    parts = [dict(zip(("id", "property"), name.split("@")[0].rsplit(".", 1), strict=True)) for name in names]
    outputs = [filled(part, ids if wanted is None else wanted) for part in parts]
    asked = {
        "output": output,
        "outputs": outputs if output.startswith("..") else outputs[0],
        "inputs": list(map(filled, known["inputs"])),
        "state": list(map(filled, known["state"])),
        "changedPropIds": list(changed),
    }
    return app.server.test_client().post(CALLBACKS, json=asked, headers=dict(headers))

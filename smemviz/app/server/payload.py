"""What a page sends when something on it changed, checked before any callback sees it: anybody may send anything."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dash import Dash
from dash.exceptions import DependencyException
from flask import Response, request

from smemviz.app import ids

CALLBACKS = "/_dash-update-component"
_SURROGATE = re.compile("[\ud800-\udfff]")  # half of a letter, which no URL holds
_LONGEST_QUERY = 1 << 14  # characters of all names and values of a URL


def refuse_garbage(app: Dash) -> None:
    """Have an app answer 400 to what no page of it sends, and 404 to a script or a style that no page has."""

    def refuse() -> Response | None:
        if request.path != CALLBACKS or request.method != "POST":
            return None
        try:
            body = request.get_json()
        except RecursionError:
            return Response("smemviz: nested too deeply\n", 400, mimetype="text/plain")
        if _is_sent_by_a_page(body, app.callback_map):
            return None
        return Response("smemviz: no page of this dashboard sends that\n", 400, mimetype="text/plain")

    def no_such_file(error: DependencyException) -> Response:
        return Response("smemviz: no such file\n", 404, mimetype="text/plain")

    app.server.before_request(refuse)
    app.server.register_error_handler(DependencyException, no_such_file)


def _is_sent_by_a_page(body: Any, callbacks: Mapping[str, Any]) -> bool:
    output = body.get("output") if isinstance(body, dict) else None
    known = callbacks.get(output) if isinstance(output, str) else None
    if known is None or "callback" not in known:
        return False
    declared = {"outputs": _outputs(str(output)), "inputs": known["inputs"], "state": known["state"]}
    sent = {part: body.get(part, []) for part in declared}
    return (
        _all_are(body.get("changedPropIds", []), lambda part: isinstance(part, str))
        and all(_fit(sent[part], declared[part], valued=part != "outputs") for part in declared)
        and _agree([(value, want) for part in declared for value, want in _pairs(sent[part], declared[part])])
    )


def _pairs(sent: Any, declared: Any) -> list[tuple[Any, Mapping[str, str]]]:
    return [(sent, declared)] if isinstance(declared, dict) else list(zip(sent, declared, strict=True))


def _agree(pairs: Sequence[tuple[Any, Mapping[str, str]]]) -> bool:
    """Tell whether what matches a pattern is the same everywhere."""
    matching: dict[str, Any] = {}
    for sent, declared in pairs:
        if isinstance(sent, list):
            ids = [part["id"] for part in sent]
            if matching.setdefault(declared["id"], ids) != ids:
                return False
    return True


def _outputs(output: str) -> list[dict[str, str]] | dict[str, str]:
    """Take the name of a callback apart, which is what it puts out: ``id.property``, or several between dots."""
    names = output.strip(".").split("...") if output.startswith("..") else [output]
    parts = [dict(zip(("id", "property"), name.rsplit(".", 1), strict=True)) for name in names]
    return parts if output.startswith("..") else parts[0]


def _fit(sent: Any, declared: Any, *, valued: bool) -> bool:
    """Tell whether the properties of components are those that a callback takes, in their order."""
    if isinstance(declared, dict):
        return _fits(sent, declared, valued=valued)
    return (
        isinstance(sent, list)
        and len(sent) == len(declared)
        and all(_fits(part, want, valued=valued) for part, want in zip(sent, declared, strict=True))
    )


def _fits(sent: Any, declared: Mapping[str, str], *, valued: bool) -> bool:
    """Tell whether a property is the one that is wanted; of a pattern it is a list of all that match."""
    identity = declared["id"]
    if not identity.startswith("{"):
        return _is_property(sent, identity, declared["property"], valued=valued)
    pattern = json.loads(identity)

    def matches(part: Any) -> bool:
        identity = part.get("id") if isinstance(part, dict) else None
        return (
            isinstance(identity, dict)
            and identity.keys() == pattern.keys()
            and all(isinstance(identity[key], (str, int)) for key in pattern)
            and all(pattern[key] in (identity[key], ["ALL"]) for key in pattern)
            and _is_property(part, identity, declared["property"], valued=valued)
        )

    return _all_are(sent, matches)


def _is_property(sent: Any, identity: Any, name: str, *, valued: bool) -> bool:
    if not isinstance(sent, dict) or (sent.get("id"), sent.get("property")) != (identity, name):
        return False
    if not valued:
        return True
    value = sent.get("value")
    if name == "id":
        return bool(value == identity)
    return kind_of(identity, name)(value)


def kind_of(identity: str, name: str) -> Callable[[Any], bool]:
    """Return what tells whether a value is one that a property may have; every one that is sent has such a kind."""
    return _KINDS.get(f"{identity}.{name}") or _KINDS[name]


def _all_are(sent: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(sent, list) and all(map(holds, sent))


def _is_query(value: Any) -> bool:
    """Tell whether a value is the query of a URL, a text by name, and no longer than one."""
    return (
        isinstance(value, dict)
        and all(isinstance(text, str) for text in value.values())
        and _is_text("".join((*value.keys(), *value.values())))
    )


def _is_place(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("path"), str) and _is_text(value.get("file"))


def _is_text(value: Any) -> bool:
    """Tell whether a value is no text, or one that a URL may hold."""
    if value is None:
        return True
    return isinstance(value, str) and len(value) <= _LONGEST_QUERY and not _SURROGATE.search(value)


def _is_count(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.isdecimal() and len(value) < 10)


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, (int, float))


def _has(name: str) -> Callable[[Any], bool]:
    """Return what tells whether a value is none, or one with a text of a name."""
    return lambda value: value is None or (isinstance(value, dict) and isinstance(value.get(name), str))


def _is_flag(value: Any) -> bool:
    return value is None or isinstance(value, bool)


def _is_query_if_any(value: Any) -> bool:
    return value is None or _is_query(value)


def _is_anything(value: Any) -> bool:
    """Accept what is only handed on or compared."""
    return True


# By component and property, or by property of any component.
_KINDS: Mapping[str, Callable[[Any], bool]] = {
    "run.data": _is_query,
    "look.data": _is_query,
    "drawn-run.data": _is_query,
    f"{ids.STEPPED}.data": _is_query_if_any,
    f"{ids.STEPPED_GLOBALLY}.data": _is_query_if_any,
    "place.data": _is_place,
    "theme.data": _is_text,
    "shown-run.data": _has("title"),
    "shown-block.data": _is_count,
    f"{ids.VERSION}.data": _is_text,
    f"{ids.EDITOR_TEXT}.data": _has("source"),
    "editor-choice.value": _is_text,
    f"{ids.GLOBAL_OPEN}.data": _is_flag,
    "products-results.hidden": _is_flag,
    "measured-last.data": _is_number,
    "products-latest.data": _is_number,
    "working-asked.data": _is_number,
    "present.data": _is_anything,
    "knobs-of.data": _is_anything,
    "n_clicks": _is_number,
    "n_intervals": _is_number,
}

"""A language in which every message stands in brackets, so that what is no message shows on a page.

``⟦Banks by ⟧wavefront`` tells both a text that was forgotten and an English word that was put into a message.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from gettext import NullTranslations
from typing import Any

import plotly.graph_objects as go
import pytest
from dash.development.base_component import Component
from playwright.sync_api import Page

from helpers.extracting import messages_said
from smemviz import i18n as language
from smemviz import messages as said
from smemviz.frontends.program import Program
from smemviz.messages import recognised
from smemviz.model.hardware.compute_capability import known
from smemviz.paths import assets_dir
from smemviz.recordings.recording import Recording
from smemviz.recordings.vocabulary import DTYPES
from smemviz.reports.html import page

TAG = "ja"  # Babel has its dates, and nothing else here speaks it
# Read alike in every language: units, formats, and what things call themselves.
ALIKE = (
    *("x", "B", "KiB", "MiB", "GiB", "s", "ms", "us", "µs", "ns", "GB", "TB", "MHz", "W", "C", "GFLOP", "TFLOP", "UTC"),
    *("SVG", "PNG", "HTML", "smemviz", "NVIDIA H200", "H200"),
)
# Where components keep what people read, or have read out to them.
_SPOKEN = (
    *("children", "figure", "aria-label", "aria-valuetext", "title", "label", "thumbLabel", "description", "alt"),
    *("placeholder", "leftSection", "rightSection", "nothingFoundMessage", "options", "data"),
)
_DRAWN = (
    *("text", "title", "name", "hovertext", "hovertemplate", "texttemplate", "ticktext", "customdata", "label"),
    *("says", "columns", "words", "rows"),  # the sentence of a figure, and what its table takes
)
_READ = """() => {
  const data = "code, pre, kbd, script, style, .notranslate, body [lang]";
  const said = [document.title];
  for (const one of document.body.querySelectorAll("*")) {
    if (one.closest(data)) continue;
    for (const name of ["aria-label", "aria-valuetext", "title", "placeholder", "alt"])
      if (one.hasAttribute(name)) said.push(one.getAttribute(name));
    for (const node of one.childNodes) if (node.nodeType === Node.TEXT_NODE) said.push(node.textContent.trim());
  }
  return said;
}"""
_FIELD = re.compile(r"((?<!\{)\{[^{}]*\}(?!\}))")
_MESSAGE = re.compile("⟦[^⟧]*⟧")
_MARKUP = re.compile(r"<[^>]*>|%\{[^}]*\}|&\w+;")


class _Bracketed(NullTranslations):
    def gettext(self, message: str) -> str:
        return "".join(part if i % 2 else f"⟦{part}⟧" * bool(part) for i, part in enumerate(_FIELD.split(message)))

    def ngettext(self, one: str, many: str, n: int) -> str:
        return self.gettext(one if n == 1 else many)

    def pgettext(self, context: str, message: str) -> str:
        return self.gettext(message)


@contextmanager
def pseudo() -> Iterator[None]:
    """Speak in brackets; a server in this process does so to whoever asks for ``TAG``."""
    english, bracketed = NullTranslations(), _Bracketed()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(language.LANGUAGES, TAG, "⟦⟧")
        patch.setattr(language, "_catalogue", lambda tag: bracketed if tag == TAG else english)
        patch.setattr(said, "english_messages", lambda tag: list(messages_said()))
        patch.setattr(page, "script_messages", lambda tag: _of_scripts(bracketed) if tag == TAG else {})
        with language.speaking(TAG):
            yield


def leaves_nothing(everything: Callable[[], str]) -> None:
    """Fail where something that is said in one language stays for the next: in brackets, in English, and once more."""
    with pseudo():
        bracketed = everything()
    english = everything()
    with pseudo():
        assert everything() == bracketed
    assert everything() == english != bracketed
    assert not any(bracket in english for bracket in ("⟦", "\\u27e6"))


def _of_scripts(catalogue: NullTranslations) -> dict[str, str]:
    """Return what the scripts of the pages say, by their English."""
    scripts = (path for path in sorted(assets_dir().rglob("*.js")) if "codemirror" not in path.parts)
    texts = "".join(path.read_text(encoding="utf-8") for path in scripts)
    return {message: catalogue.gettext(message) for message in re.findall(r'\bgettext\(\s*"([^"]*)"', texts)}


def said_by(page: Page) -> list[str]:
    """Return what a page in a browser says, shown or read out, but for what is data; ``forgotten`` takes it."""
    said: list[str] = page.evaluate(_READ)
    return said


def forgotten(shown: object, data: Iterable[str] = ()) -> list[str]:
    """Return the texts of components and figures, made in ``pseudo``, that have letters outside of every message.

    ``data`` are words and names that no language translates. What is code, of the class ``notranslate`` or marked as of
    another language is skipped.
    """
    known = sorted({*data, *ALIKE}, key=len, reverse=True)
    words = [rf"(?<!\w){re.escape(word)}(?!\w)" for word in known if word]
    alike = re.compile("|".join([*words, r"(?<!\w)L(?=[\d…])"]))  # a lane is L5 in every language
    texts = {re.sub(r"[\d,.]+", "0", text): text for text in _texts(shown)}  # one of those that differ by numbers
    return [text for text in texts.values() if re.search("[A-Za-z]", alike.sub("", _outside(text)))]


def names_in(program: Program, recording: Recording) -> list[str]:
    """Return what a page about a recording shows of the code and the hardware: names no language translates."""
    words = [
        recording.file.rpartition("/")[2],
        recording.engine,
        *recording.constants,
        *(row.family for row in known()),
    ]
    words += [*DTYPES.values(), *("gcd", "r", "c")]  # r and c as fixes write the row and column of an element
    words += [constant.text for constant in program.constants.values()]
    words += [constant.name for constant in program.constants.values()]
    if recording.device:
        words.append(recording.device.name)
    for launch in recording.launches:
        words += [launch.kernel, *(array.name for array in launch.arrays), *(site.source for site in launch.sites)]
        words += [name for site in launch.hardware or () for name in names_said(site.because)]
        words += [name for text in launch.unaccounted for name in names_said(text)]
        words += [*launch.counters, *(site.op.partition("_")[2] for site in launch.sites)]
    for finding in recording.findings:
        words += [finding.kernel, *names_said(finding.message)]
    return words


def names_said(text: str) -> list[str]:
    """Return what an English text that was recorded holds of the code: the values of its messages."""
    with pseudo():
        return _names_said(text, within=False)


def _names_said(text: str, *, within: bool) -> list[str]:
    known = recognised(text, within=within)
    if known is None:
        parts = re.split("; | or ", text)
        return [name for part in parts for name in _names_said(part, within=within)] if len(parts) > 1 else []
    texts = [value for value in known[1].values() if isinstance(value, str)]
    return [name for value in texts for name in (_names_said(value, within=True) or [value])]


def _outside(text: str) -> str:
    return _MARKUP.sub(" ", _MESSAGE.sub(" ", text))


def _texts(shown: object) -> Iterator[str]:
    """Yield what is read of components, of their options, and of figures."""
    if isinstance(shown, str):
        yield shown
    elif isinstance(shown, list | tuple):
        for part in shown:
            yield from _texts(part)
    elif isinstance(shown, go.Figure):
        yield from _drawn(shown.to_plotly_json())
    elif isinstance(shown, Component):
        if not _is_data(shown):
            for name, value in shown.to_plotly_json()["props"].items():
                if name in _SPOKEN and not (name == "data" and shown._type == "Store"):
                    yield from _texts(value)
    elif isinstance(shown, dict):  # options, by their labels; a table, by its rows
        for name in ("label", "group", "items", "head", "body", "caption"):
            yield from _texts(shown.get(name))


def _drawn(part: Any) -> Iterator[str]:
    """Yield the texts of a figure's JSON."""
    if isinstance(part, dict):
        for name, value in part.items():
            if name in _DRAWN:
                yield from _strings(value)
            elif name != "template":
                yield from _drawn(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _drawn(value)


def _strings(value: Any) -> Iterator[str]:
    """Yield every string in a value: a text, a title with its font, an array of hover texts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _strings(value.get("text"))
    elif hasattr(value, "tolist") or isinstance(value, list | tuple):
        for part in value.tolist() if hasattr(value, "tolist") else value:
            yield from _strings(part)


def _is_data(component: Component) -> bool:
    props = component.to_plotly_json()["props"]
    return (
        component._type in ("Code", "Pre", "Kbd")
        or "lang" in props
        or "notranslate" in props.get("className", "").split()
    )

"""Reading components of a page, and what callbacks fill a page with."""

from collections.abc import Iterator

from dash.development.base_component import Component


def parts(component: object) -> Iterator[Component]:
    """Walk a component and all that is in it."""
    if isinstance(component, list | tuple):
        for part in component:
            yield from parts(part)
    elif isinstance(component, Component):
        yield component
        yield from parts(getattr(component, "children", None))


def text(component: object) -> str:
    """Return what a reader sees of a component."""
    if isinstance(component, list | tuple):
        return "".join(map(text, component))
    return text(getattr(component, "children", None)) if isinstance(component, Component) else str(component or "")

"""The dashboard."""

from smemviz.app.factory import create_app

__all__ = ["create_app"]

"""What is said of where smemviz was installed from."""

import importlib.metadata
import json

import pytest

from smemviz import paths


class Installed:
    """An installed distribution that came from an address."""

    def __init__(self, url):
        self.url = url

    def read_text(self, name):
        assert name == "direct_url.json"
        return json.dumps({"url": self.url}) if self.url else None


@pytest.mark.parametrize("there", [True, False])
def test_an_extra_is_installed_from_the_folder_that_is_still_there(tmp_path, monkeypatch, there):
    folder = tmp_path / "a clone"
    folder.mkdir()
    if there:
        (folder / "pyproject.toml").touch()
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Installed(folder.as_uri()))
    wanted = f"pip install '{folder}[cpp]'" if there else "pip install 'smemviz[cpp]'"
    paths.origin.cache_clear()
    assert paths.installing("cpp") == wanted
    paths.origin.cache_clear()


def test_an_extra_of_what_came_from_an_index_comes_from_there(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Installed(None))
    paths.origin.cache_clear()
    assert paths.installing("cpp") == "pip install 'smemviz[cpp]'"
    paths.origin.cache_clear()

"""What the pytest plugin costs a session that does not use it: the same session with it and with ``-p no:smemviz``.

Sessions of one empty test and of a thousand take turns, a process each, so that both sides see the same machine. Told
is the least processor time of each side, which neighbours on the machine move less than the clock. The plugin is found
by its entry point, as when smemviz is installed. Target: under 20 ms a session.

    python tests/benchmarks/bench_plugin.py
"""

import os
import resource
import subprocess
import sys
import tempfile
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[2]
TARGET_MS = 20
REPEATS = 15


def session(folder, *options):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment(folder), stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def environment(folder):
    """Return an environment in which smemviz is installed, and no other plugin makes a session long."""
    path = os.pathsep.join([str(REPOSITORY), str(folder / "installed")])
    others = [plugin.name for plugin in entry_points(group="pytest11") if plugin.name != "smemviz"]
    return os.environ | {"PYTHONPATH": path, "PYTEST_ADDOPTS": " ".join(f"-p no:{name}" for name in others)}


def install(folder):
    info = folder / "installed" / "smemviz-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: smemviz\nVersion: 0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[pytest11]\nsmemviz = smemviz.testing.pytest_plugin\n", encoding="utf-8")


def main():
    """Print a line per session; exit 1 when the target is missed."""
    missed = False
    for tests in (1, 1000):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            install(folder)
            body = "import pytest\n@pytest.mark.parametrize('n', range({}))\ndef test_nothing(n):\n    pass\n"
            (folder / "test_nothing.py").write_text(body.format(tests), encoding="utf-8")
            pairs = [(session(folder), session(folder, "-p", "no:smemviz")) for _ in range(REPEATS + 1)][1:]
        with_it, without = 1e3 * np.array(pairs).T
        more = with_it.min() - without.min()
        missed |= more >= TARGET_MS
        print(
            f"{tests:,} empty tests: {with_it.min():.1f} ms with the plugin, {without.min():.1f} ms without, "
            f"{more:+.1f} ms, ratio {with_it.min() / without.min():.3f} (target under {TARGET_MS} ms)"
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())

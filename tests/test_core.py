"""smemviz-core: the same sources without Dash, Plotly and Babel, for those who want the command line and the plugin."""

import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from smemviz import paths
from smemviz.errors import MissingError

ROOT = Path(__file__).parents[1]
CORE = ROOT / "packages" / "smemviz-core" / "pyproject.toml"
LEFT_OUT = ["babel", "dash", "dash-mantine-components", "flask", "plotly", "pygments", "werkzeug"]
WITHOUT = """
import sys
class LeftOut:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("babel", "dash", "dash_mantine_components", "flask", "plotly", "werkzeug"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, LeftOut)
"""
SQUARE = ROOT / "kernels" / "square.py"
RECORDED = ROOT / "kernels" / "recordings" / "h200" / "square.smem.npz"


def without(code, folder):
    """Run code where none of what the core leaves out can be imported."""
    command = [sys.executable, "-W", "error", "-c", f"{WITHOUT}{code}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_it_requires_what_smemviz_does_but_for_pages_and_figures():
    whole, core = (tomllib.loads(path.read_text("utf-8")) for path in (ROOT / "pyproject.toml", CORE))
    left_out = tuple(LEFT_OUT)
    kept = [one for one in whole["project"]["dependencies"] if not one.startswith(tuple(f"{n}>" for n in left_out))]
    assert core["project"]["dependencies"] == kept
    assert len(whole["project"]["dependencies"]) - len(kept) == len(LEFT_OUT)
    extras = whole["project"]["optional-dependencies"]
    assert core["project"]["optional-dependencies"] == {
        name: extras[name] for name in core["project"]["optional-dependencies"]
    }
    for name in ("requires-python", "license", "scripts", "entry-points"):
        assert core["project"][name] == whole["project"][name]
    included = core["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert {name.removeprefix("../../"): to for name, to in included.items()} == {
        **whole["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"],
        "smemviz": "smemviz",
        "LICENSE": "smemviz/_data/LICENSE",
    }


def test_commands_count_compare_and_export_data(tmp_path):
    done = without(
        "from smemviz.cli.main import main\n"
        f"reverse, recorded = {str(SQUARE.with_name('reverse.py'))!r}, {str(RECORDED)!r}\n"
        "lockstep = ('--engine', 'lockstep')\n"
        "for words in (\n"
        "    ('run', reverse, *lockstep), ('run', reverse, *lockstep, '--format', 'sarif'), ('show', recorded),\n"
        "    ('diff', reverse, '--set-a', 'N=128', *lockstep), ('features',), ('suggest', reverse, *lockstep),\n"
        "    ('export', recorded, '-o', 'a.csv'), ('export', recorded, '-o', 'a.parquet'),\n"
        "    ('export', recorded, '-o', 'a.json'),\n"
        "):\n"
        "    assert main(words) == 0, words\n"
        "import smemviz\n"
        "launch = smemviz.load(recorded).launches[0]\n"
        "assert launch._repr_html_() and launch.sites[0].wavefronts and len(launch.to_pandas())\n",
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_it_leaves_out_is_told_with_the_command_that_brings_it(tmp_path):
    done = without(
        "from smemviz.cli.main import main\n"
        f"recorded = {str(RECORDED)!r}\n"
        "for words in (\n"
        "    (), ('serve',), ('handout', 'banks', '-o', 'a.pdf'),\n"
        "    ('export', recorded, '-o', 'a.html'),\n"
        "    ('export', recorded, '--figure', 'tile', '-o', 'b.html'),\n"
        "    ('export', recorded, '--figure', 'tile', '-o', 'c.html', '--lang', 'ko'),\n"
        "):\n"
        "    assert main(words) == 3, words\n"
        "import smemviz\n"
        "for ask in (smemviz.load(recorded).launches[0].figure, lambda: smemviz.create_app()):\n"
        "    try:\n"
        "        ask()\n"
        "    except smemviz.errors.MissingError as error:\n"
        "        print(f'smemviz: {error}', file=sys.stderr)\n",
        tmp_path,
    )
    needs = ["Dash", "Flask", "Plotly", "Plotly", "Plotly", "Babel", "Plotly", "Dash"]
    bring = "which smemviz-core leaves out: pip uninstall -y smemviz-core && pip install smemviz"
    assert done.stderr.splitlines() == [f"smemviz: that needs {name}, {bring}" for name in needs]


def test_the_command_names_the_clone_that_it_came_from(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "origin", lambda: str(CORE.parent))
    with pytest.raises(MissingError, match=f"pip install '{ROOT}'$"), paths.whole_needed():
        raise ModuleNotFoundError(name="plotly.graph_objects")
    with pytest.raises(ModuleNotFoundError), paths.whole_needed():
        raise ModuleNotFoundError(name="numba")


def test_the_plugin_is_loaded_where_pytest_and_pluggy_are_older(monkeypatch):
    monkeypatch.delattr(pytest, "StashKey")  # of pytest 7
    options = runpy.run_path(str(ROOT / "smemviz" / "testing" / "pytest_plugin.py"))["pytest_runtest_call"].pytest_impl
    assert not options["wrapper"]  # of pluggy 1.2


@pytest.mark.exhaustive
def test_a_strict_session_of_somebody_else_is_not_disturbed(tmp_path):
    (tmp_path / "test_theirs.py").write_text(
        "import sys\n"
        "def test_theirs():\n"
        "    assert not {'numpy', 'numba', 'rich', 'smemviz.engines', 'smemviz.model'} & {*sys.modules}\n"
    )
    (tmp_path / "test_ours.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('kernel', ['set_row_read_row', 'set_row_read_col'])\n"
        "def test_ours(smem, kernel):\n"
        f"    recording = smem.load({str(RECORDED)!r}, source={str(SQUARE)!r})\n"
        "    smem.assert_max_degree(recording[kernel], 1)\n"
    )
    run = "import pytest\nraise SystemExit(pytest.main(['-W', 'error', '-q', '-p', 'no:dash', *{words}]))"
    theirs = without(run.format(words=["test_theirs.py"]), tmp_path)
    assert (theirs.returncode, theirs.stderr) == (0, ""), theirs.stdout
    assert theirs.stdout.splitlines()[-1].startswith("1 passed in ")
    ours = without(run.format(words=["test_ours.py", "--smem-report=told"]), tmp_path)
    assert "1 failed, 1 passed" in ours.stdout
    assert "32-way" in (tmp_path / "told" / "index.html").read_text("utf-8")

"""``smemviz verify`` on this machine's GPU, where Nsight Compute may count."""

import json
from pathlib import Path

import pytest
from helpers import packed_records

from smemviz.cli.main import main
from smemviz.errors import MissingError
from smemviz.measure.ncu.counters import find_ncu
from smemviz.paths import kernels_dir

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _profiler():
    try:
        find_ncu()
    except MissingError as error:
        pytest.skip(str(error))


SOUND = sorted(path for path in kernels_dir().glob("*.py") if path.stem != "mistakes")


@pytest.mark.parametrize("file", SOUND, ids=lambda path: path.stem)
def test_every_site_of_the_gallery_is_accounted_for(file, capsys):
    code = main(["verify", str(file), "--json"])
    sites = [site for launch in json.loads(capsys.readouterr().out)["launches"] for site in launch["sites"]]
    assert [site["because"] for site in sites if site["verdict"] == "unexplained"] == []
    assert code == 0


@pytest.mark.parametrize("dtype", ["PACKED", "ALIGNED"])
def test_fields_of_records_are_counted_as_the_hardware_counts_them(dtype, tmp_path, capsys):
    kernel = Path(packed_records.__file__).read_text(encoding="utf-8")
    file = tmp_path / "records.py"
    file.write_text(
        f"{kernel}\n\ndef main():\n    out = np.zeros(THREADS, np.float64)\n"
        f"    over_records[1, THREADS](records_of({dtype}), out)\n    return out\n",
        encoding="utf-8",
    )
    code = main(["verify", str(file), "--json"])
    (launch,) = json.loads(capsys.readouterr().out)["launches"]
    assert [site["because"] for site in launch["sites"] if site["verdict"] == "unexplained"] == []
    assert code == 0


def test_a_file_with_a_launch_that_may_do_harm_is_refused(capsys):
    assert main(["verify", str(kernels_dir() / "mistakes.py"), "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "out of bounds in store_past_the_edge" in err
    assert err.endswith("Mend it, then verify\n")


def test_a_kernel_file_that_fails_only_under_the_profiler_says_so(tmp_path, capsys):
    file = tmp_path / "failing.py"
    file.write_text(
        "import os\nfrom numba import cuda\n\n@cuda.jit\ndef kernel(out):\n    out[0] = 1\n\ndef main():\n"
        "    if any('INJECTION' in name for name in os.environ):\n        raise ValueError('on purpose')\n"
        "    kernel[1, 1](cuda.device_array(1))\n"
    )
    assert main(["verify", str(file)]) == 2
    assert f"under Nsight Compute: {file}:10: ValueError: on purpose" in capsys.readouterr().err

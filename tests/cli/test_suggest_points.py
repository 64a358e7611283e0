"""``smemviz suggest --over``: an answer for each choice of constants."""

import json
import re

import pytest

from smemviz.cli.main import main
from smemviz.paths import kernels_dir

TILE = f"{kernels_dir() / 'transpose.py'}:tile"


def suggested(*options):
    return ["suggest", TILE, "--engine", "lockstep", *options]


def test_what_cannot_be_is_one_line(command):
    for options, said in [
        (("--over", "TILE=8,32", "-o", "better.patch"), r"a difference is for one choice of constants.*"),
        (
            ("--over", "TILE=8", "--over", "TILE=16"),
            r"--over TILE is there twice; write all its values in one, TILE=VALUE,VALUE",
        ),
    ]:
        assert re.fullmatch(f"smemviz: {said}\n", command(*suggested(*options), code=2).err)


@pytest.mark.exhaustive
def test_there_is_an_answer_for_each_value(capsys):
    assert main(suggested("--over", "TILE=16,32", "--json")) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [one["constants"]["TILE"] for one in points] == [16, 32]


def test_several_values_are_read_as_one_is(command):
    for text in ["TILE", "TILE=", "TILE=8,,16"]:
        assert "is not NAME=VALUE" in command(*suggested("--over", text), code=2).err

"""A lane is named in its own cell, where its name fits at a size that can be read, and nowhere else."""

import numpy as np
import pytest

from smemviz.views.grid import fitting_names, label_size, lane_label


def test_a_name_is_as_large_as_its_cell_and_left_out_where_it_would_be_too_small():
    for letters, width, height, size in [
        (3, 22, 17, 18 / 1.86),  # L31 in the 32nd part of 700 pixels
        (3, 20.5, 17, 0),  # a pixel less than 9 pixels of type need
        (3, 22, 10, 0),  # as high as type and no line free
        (2, 44, 36, 13),  # no larger than the rest of a page's type
    ]:
        assert label_size(letters, width, height) == pytest.approx(size)


def test_lanes_are_marked_as_such():
    assert [lane_label(lanes) for lanes in ("", "3", "0-7", "0, 3, 6, 31")] == ["", "L3", "L0-7", "L0…31"]


def test_several_lanes_of_a_cell_are_named_where_they_fit_beside_single_ones():
    names = np.array(["", "L5", "L0-31"], dtype=object)
    assert fitting_names(names, 22, 20)[0].tolist() == ["", "L5", ""]
    assert fitting_names(names, 60, 20)[0].tolist() == ["", "L5", "L0-31"]
    assert fitting_names(names[2:], 60, 20)[1] == 13
    assert fitting_names(names, 22, 10)[1] == 0

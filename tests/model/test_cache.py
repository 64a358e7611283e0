import gc

import pytest
from helpers import launches

from smemviz.model.counting.costs import cached

made = []


SITES = tuple(launches.site(name, "shared", "load") for name in "abc")


@cached
def sites(launch, more=0):
    made.append(more)
    return len(launch.sites) + more


def test_a_launch_is_counted_once_for_each_argument():
    made.clear()
    launch = launches.launch(SITES, [])
    assert [sites(launch), sites(launch), sites(launch, 2), sites(launch, 2)] == [3, 3, 5, 5]
    assert made == [0, 2]


@pytest.mark.exhaustive
def test_another_launch_is_counted_anew_even_where_the_first_one_lay():
    made.clear()
    for n in range(3):
        launch = launches.launch(SITES[:n], [])
        assert sites(launch) == n
        del launch
        gc.collect()
    assert made == [0, 0, 0]

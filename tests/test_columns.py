"""The columns of counts: every place takes them from one list, and every one that is shown is explained."""

import re
from dataclasses import asdict

import pytest
from helpers.gallery import h200
from helpers.strategies import a_recording

from smemviz.model.counting.summary import summarize
from smemviz.model.playback import H200
from smemviz.recordings.data import SiteSummary
from smemviz.reports import data_tables
from smemviz.reports.notebook import to_html
from smemviz.reports.recording import facts
from smemviz.views.columns import COLUMNS, COUNTS, columns_in
from smemviz.views.glossary import explained, numbers


@pytest.fixture(scope="module")
def square():
    return h200("square")


def test_a_column_that_is_shown_is_explained_under_every_name(square):
    for column in [column for column in COLUMNS if column.heads]:
        heads = {head for place, head in column.heads.items() if place != "terminal"}
        assert heads <= set(column.names)
        entry = explained(column, square.launches[0], H200)
        assert entry.names == column.names
        assert entry.meaning
        assert "{" not in entry.meaning
        (shown,) = (
            one for section in numbers(square.launches[0]) for one in section.numbers if one.anchor == column.anchor
        )
        assert (shown.names, shown.meaning) == (entry.names, entry.meaning)


def test_the_first_columns_are_the_summary(square):
    launch = square["set_row_read_col"]
    for i, row in enumerate(summarize(launch)):
        counts = {column.name: column.of_site(launch, i, H200) for column in COUNTS}
        assert counts == {name: value for name, value in asdict(row).items() if name not in ("complete", "reason")}
    assert list(SiteSummary.__dataclass_fields__)[: len(COUNTS)] == [column.name for column in COUNTS]


def test_data_have_every_column_in_order(square):
    names = [column.name for column in COLUMNS]
    for site in facts(square)["launches"][0]["sites"]:
        assert [name for name in site if name in names] == names
    assert [name for name in data_tables.COLUMNS["sites"] if name in names] == names


def test_a_column_has_numbers_where_its_kind_of_memory_is_used():
    (launch,) = a_recording().launches
    for column in COLUMNS:
        for i, site in enumerate(launch.sites):
            if site.space not in column.spaces:
                assert column.of_site(launch, i, H200) is None


def test_a_notebook_has_its_columns_in_the_order_of_the_list(square):
    heads = [column.head("notebook") for column in columns_in("notebook")]
    found = re.findall('<th scope="col">(.*?)</th>', to_html(square))
    assert ", ".join(heads) in ", ".join(found)

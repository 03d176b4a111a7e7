# SPDX-License-Identifier: Apache-2.0
"""docs/egress.md has a row for everything that is tried, names tests that
exist, and leaves out none of the files that were written for it."""
import os
import re

import pytest

from conftest import TREE
from test_boundary_table import LINK, TEST, names_in, text_of

pytestmark = pytest.mark.whoever

TABLE = text_of("docs", "egress.md")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")]
        for line in TABLE.splitlines()
        if line.startswith("| ") and not line.startswith("| id ")]
IDS = (["B0", "B3 path", "B3 query", "B7"]
       + [f"FR-{i}" for i in range(1, 12)] + [f"HO-{i}" for i in range(1, 12)]
       + [f"IP-{i}" for i in range(1, 6)] + ["DN-1", "DN-2", "NET-1", "NET-2"]
       + [f"PR-{i}" for i in range(1, 9)] + [f"B8-{i}" for i in range(1, 7)]
       + [f"B6-{i}" for i in range(1, 20)]
       + [f"B9 {what}" for what in ("slow", "large", "unread", "many",
                                    "silent", "record", "helpers")])


def test_each_row_is_there_once():
    assert sorted(row[0] for row in ROWS) == sorted(IDS)
    assert all(len(row) == 6 and all(row[1:3]) for row in ROWS)


def test_each_row_has_a_test_that_exists():
    for row in ROWS:
        named = TEST.findall(row[4])
        assert named or (not row[3] and row[5]), row[0]
        for file, name in named:
            assert name in names_in(file), f"{row[0]}: {file}::{name}"


def test_each_file_that_is_linked_exists():
    for link in LINK.findall(TABLE):
        assert os.path.exists(os.path.join(TREE, link)), link


@pytest.mark.parametrize("file", ["test_egress", "test_vectors",
                                  "test_helper_faults", "test_exposure"])
def test_each_test_that_was_written_for_it_is_named(file):
    assert {name for where, name in TEST.findall(TABLE)
            if where == file} == names_in(file)

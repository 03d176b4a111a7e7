# SPDX-License-Identifier: Apache-2.0
"""docs/boundary.md names tests that exist, and every test of the boundary."""
import os
import re

import pytest

from conftest import TREE

pytestmark = pytest.mark.whoever

TABLE = os.path.join(TREE, "docs", "boundary.md")
TEST = re.compile(r"`([\w/]+)::(\w+)`")
LINK = re.compile(r"\]\(\.\./([^)]+)\)")


def text_of(*path):
    with open(os.path.join(TREE, *path)) as text:
        return text.read()


def names_in(file):
    if file.startswith("unit/"):
        return set(re.findall(r"^static void (test_\w+)\(void\)",
                              text_of("test", file + ".c"), re.M))
    return set(re.findall(r"^def (test_\w+)\(",
                          text_of("test", "system", file + ".py"), re.M))


def test_every_test_that_is_named_exists():
    named = TEST.findall(text_of(TABLE))
    assert len(named) > 100
    for file, name in named:
        assert name in names_in(file), f"{file}::{name}"


def test_every_file_that_is_linked_exists():
    links = LINK.findall(text_of(TABLE))
    assert len(links) > 40
    for link in links:
        assert os.path.exists(os.path.join(TREE, link)), link


def boundary_files():
    return sorted(name[:-3] for name in os.listdir(
        os.path.join(TREE, "test", "system"))
        if name.startswith("test_boundary_") and name != os.path.basename(
            __file__))


@pytest.mark.parametrize("file", boundary_files())
def test_every_test_of_the_boundary_is_named(file):
    named = {name for where, name in TEST.findall(text_of(TABLE))
             if where == file}
    assert named == names_in(file)


def test_every_row_has_a_test_or_says_what_is_missing():
    for line in text_of(TABLE).splitlines():
        if not line.startswith("| ") or line.startswith(("| tried", "| found")):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert TEST.search(line) or cells[-1], line

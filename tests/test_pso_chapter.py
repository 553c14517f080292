"""The numbers that book/pso.md works out by hand are those of the package."""

import re

import numpy as np
import pytest
from conftest import ROOT

from voiceprivacy.reference import chance_level, conditional_reference

TEXT = (ROOT / "book" / "pso.md").read_text(encoding="utf-8")


def rows(pattern):
    return [
        [float(x) for x in row] for row in re.findall(rf"^\| {pattern} \|$", TEXT, re.MULTILINE)
    ]


def test_the_table_of_references():
    table = rows(r"(\d+) \| (\d\.\d{4})")
    assert len(table) == 7
    for n, reference in table:
        assert reference == pytest.approx(conditional_reference(n), abs=5e-5)


def test_the_table_of_chance_levels():
    table = rows(r"(\d+) \| (\d\.\d{4}) \| (\d\.\d{4}) \| (\d\.\d{4})")
    assert len(table) == 5
    for n, *levels in table:
        expected = [float(x) for x in (conditional_reference(n), *chance_level(n, [9, 1]))]
        assert levels == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("district", "threshold", "above"),
    [("", ".565", {"Ana", "Cleo"}), ("Harbour", ".495", {"Ana"})],
)
def test_the_six_speakers(district, threshold, above):
    speakers = re.findall(r"^\| (\w+) \| (\w+) \| (\.\d+) \| (\.\d+), (\.\d+) \|$", TEXT, re.M)
    block = [row for row in speakers if district in row[1]]
    assert len(block) == (3 if district else 6)
    calibration = np.sort([float(x) for row in block for x in row[3:]])[::-1]
    assert calibration[1:3].mean() == pytest.approx(float(threshold))
    assert f"= {threshold}" in TEXT
    assert {row[0] for row in block if float(row[2]) > float(threshold)} == above


def test_the_hoarse_target_leaves_cleo_alone_and_nobody_in_the_block():
    tests = dict(re.findall(r"^\| (\w+) \| \w+ \| (\.\d+) \| \.", TEXT, re.M)) | {"Ana": ".40"}
    assert [name for name, score in tests.items() if float(score) > 0.565] == ["Cleo"]


def test_the_means_of_the_conditional_reference():
    mean = conditional_reference(np.array([1, 3])).mean()
    assert mean == pytest.approx(0.722, abs=5e-4)
    assert 0.8 - mean == pytest.approx(0.078, abs=5e-4)
    assert 0.8 - np.exp(-1) == pytest.approx(0.432, abs=5e-4)

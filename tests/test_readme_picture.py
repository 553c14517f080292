"""The README's picture is drawn by a script, from the notebook's own parameters."""

import sys

from conftest import ROOT

sys.path.insert(0, str(ROOT / "book"))
from draw_readme import defaults, picture


def test_it_takes_the_notebooks_parameters():
    assert defaults()["sizes"][-1] == 22_024
    assert defaults()["attackers"] == ["semi-informed", "ignorant"]


def test_a_panel_for_each_attacker_and_a_curve_for_each_level():
    fig = picture([30, 100], targets=20, draws=1, splits=2, attackers=["ignorant"], seed=0)
    (panel,) = fig.axes
    assert panel.get_title() == "ignorant attacker"
    names = [text.get_text() for legend in fig.legends for text in legend.texts]
    assert {"signal only", "MSOA", "LSOA", "OA", "OA+HH2", "published"} <= set(names)
    assert "simulated embeddings" in " ".join(text.get_text() for text in fig.texts)

"""Figures of words show each word where it is."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from voiceprivacy._words import Segmentation, report, word_table
from voiceprivacy.word_plots import recogniser_styles, timeline, tolerance_curves

RATE = 16_000


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_every_word_is_a_bar_and_short_ones_have_no_text(ax):
    true = Segmentation(
        "true words", word_table([("u", "go", 1600, 8000), ("u", "incomprehensible", 8000, 8800)])
    )
    silent = report([("u", "silent", "")], ["utterance", "reason", "detail"])
    none = Segmentation("nobody", word_table([]), no_words=silent)
    other = Segmentation("other", word_table([("v", "go", 0, 9)]))
    rows = {"true words": true, "Whisper": none, "PocketSphinx": other}
    timeline(ax, np.zeros(RATE), rows, "u")
    bars = [path.get_extents().extents for bar in ax.collections for path in bar.get_paths()]
    np.testing.assert_allclose(bars, [[0.1, -1.35, 0.5, -0.65], [0.5, -1.35, 0.55, -0.65]])
    assert [text.get_text() for text in ax.texts] == ["go"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["sound", *rows]
    assert ax.get_xlim() == (0, 1)


def test_a_curve_for_everyone_who_found_words(ax):
    curves = {
        "Whisper": pd.Series([0.1, 0.9], [0.0, 0.2]),
        "equal parts": pd.Series([0.1, 0.4], [0.0, 0.2]),
    }
    tolerance_curves(ax, curves, marked=0.05)
    assert [line.get_label() for line in ax.lines[:2]] == list(curves)
    assert ax.lines[0].get_ydata().tolist() == [0.1, 0.9]
    assert ax.lines[2].get_xdata()[0] == 0.05
    assert ax.get_xlim() == (0, 0.2)


def test_a_recogniser_looks_the_same_with_the_truth_and_without():
    with_truth = recogniser_styles(["true words", "Whisper", "PocketSphinx"])
    without = recogniser_styles(["Whisper", "PocketSphinx", "equal parts"])
    assert with_truth["Whisper"] == without["Whisper"]
    assert with_truth["PocketSphinx"] == without["PocketSphinx"]
    assert len({style.color for style in (with_truth | without).values()}) == 4

"""Figures of rearranged words: every word in the place, colour and number that it should have."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from voiceprivacy.rearrangement_plots import (
    place_colors,
    similarity_matrix,
    spectrogram,
    waveform,
)

RATE = 16_000
SAMPLES = np.sin(np.arange(RATE) / 5).astype(np.float32)
PIECES = (2000, np.array([[2000, 6000], [6000, 12_000], [12_000, 16_000]]))


@pytest.fixture
def ax():
    _, ax = plt.subplots()
    yield ax
    plt.close("all")


def bars(ax):
    """Begin, end (in samples) and colour of the shaded words."""
    return [
        (round(p.get_x() * RATE), round((p.get_x() + p.get_width()) * RATE), p.get_facecolor()[:3])
        for p in ax.patches
    ]


def test_words_follow_one_another_in_their_order_colour_and_number(ax):
    waveform(ax, SAMPLES, PIECES, [2, 0, 1])
    colors = [to_rgb(color) for color in place_colors(3)]
    assert bars(ax) == [
        (2000, 6000, colors[2]),
        (6000, 10_000, colors[0]),
        (10_000, 16_000, colors[1]),
    ]
    assert [text.get_text() for text in ax.texts] == ["3", "1", "2"]
    assert ax.texts[0].get_position()[0] == pytest.approx(4000 / RATE)
    assert ax.get_xlim() == pytest.approx((0, 1), abs=0.01)


def test_a_second_sound_begins_where_it_should(ax):
    waveform(ax, SAMPLES, PIECES, [0, 1, 2], at=RATE)
    assert [begin for begin, _, _ in bars(ax)] == [18_000, 22_000, 28_000]


def test_a_word_stands_above_where_there_is_room(ax):
    waveform(
        ax, SAMPLES, PIECES, [0, 1, 2], texts=["go", "antidisestablishmentarianismantidisestab"]
    )
    assert [text.get_text() for text in ax.texts] == ["go", "2", "3"]


def test_colours_differ_also_without_colour():
    lightness = np.array(place_colors(12))[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(lightness) > 0).all()


def test_a_tone_is_dark_where_its_frequency_is(ax):
    spectrogram(ax, np.sin(2 * np.pi * 3000 * np.arange(RATE) / RATE))
    (image,) = ax.images
    loudest = image.get_array().argmax(axis=0)
    left, right, low, high = image.get_extent()
    frequencies = low + (loudest + 0.5) * (high - low) / image.get_array().shape[0]
    assert np.allclose(frequencies, 3, atol=0.05)
    assert (left, right) == pytest.approx((0.0125, 0.99), abs=0.01)


def test_silence_has_a_spectrogram(ax):
    spectrogram(ax, np.zeros(RATE))


def test_pairs_are_drawn_by_rank_and_steps_in_their_cells(ax):
    similarity = np.array([[1, 0.2, 0.9], [0.2, 1, 0.4], [0.9, 0.4, 1]])
    similarity_matrix(ax, similarity, [0, 2, 1], ["a", "b", ""])
    shown = np.ma.filled(ax.images[0].get_array(), np.nan)
    np.testing.assert_allclose(shown[[0, 1, 0], [1, 2, 2]], [0.1, 0.5, 0.9])
    assert np.isnan(np.diag(shown)).all()
    steps = [(text.get_position(), text.get_text()) for text in ax.texts]
    assert steps == [((2, 0), "1"), ((1, 2), "2")]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a 1", "b 2", "3"]

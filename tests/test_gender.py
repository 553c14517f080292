"""Voices that tell women from men."""

import numpy as np
import pandas as pd
import pytest

from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.gender import gendered

PEOPLE = pd.DataFrame({"speaker": ["a", "b", "c"], "gender": ["female", "male", ""]})


def three():
    ids = np.array(["a", "b", "c"])
    return Embeddings(ids, ids, np.array([[3, 0, 4], [0, 0, 2], [1, 0, 0]], "f4"))


def test_women_and_men_move_apart_and_the_others_stay():
    moved = gendered(three(), PEOPLE, 2.0).matrix
    expected = [[0.6, 1, 0.8], [0, -1, 1], [1, 0, 0]]
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(moved, expected / lengths, rtol=1e-6)


def test_no_shift_leaves_the_directions():
    np.testing.assert_array_equal(
        gendered(three(), PEOPLE, 0.0).matrix, three().normalised().matrix
    )


def test_the_given_embeddings_are_not_changed():
    given = three()
    gendered(given, PEOPLE, 1.0)
    np.testing.assert_array_equal(given.matrix, three().matrix)


def test_a_speaker_without_a_row_is_refused():
    with pytest.raises(VoicePrivacyError, match="no gender for speakers 'b', 'c'"):
        gendered(three(), PEOPLE[:1], 1.0)

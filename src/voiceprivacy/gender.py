"""Voices that tell women from men, to see what that does to side information tied to gender."""

import numpy as np
import pandas as pd

from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.speakers import checked_speakers


def gendered(embeddings: Embeddings, speakers: pd.DataFrame, shift: float) -> Embeddings:
    """Return embeddings in which women and men differ, as the simulated ones do not.

    Parameters
    ----------
    embeddings
        Utterances of some of the speakers.
    speakers
        Table with `speaker` and `gender`; those of unknown gender are left as they are.
    shift
        How far women and men are moved apart along one direction in which voices differ, in
        units of the embeddings' length; 0 changes nothing.

    Raises
    ------
    VoicePrivacyError
        If an embedding's speaker is not in the table, or `checked_speakers` refuses it.

    Examples
    --------
    >>> from voiceprivacy.simulation import PRESETS, simulate, simulated_speakers
    >>> people = simulated_speakers(n_female=1, n_male=1)
    >>> pool = simulate(PRESETS["informed"], people, targets=["spk-f-00001"]).pool
    >>> apart = gendered(pool, people, 1.0).matrix - pool.matrix
    >>> bool((apart[:10, 1] > 0).all() and (apart[10:, 1] < 0).all())
    True
    """
    people = checked_speakers(speakers, ["gender"])
    row = pd.Index(people["speaker"]).get_indexer(embeddings.speakers)
    if (row < 0).any():
        absent = np.unique(embeddings.speakers[row < 0]).tolist()
        raise VoicePrivacyError(f"no gender for speakers {listed(absent)}; add their rows.")
    side = people["gender"].map({"female": 0.5, "male": -0.5}).fillna(0).to_numpy()
    matrix = embeddings.normalised().matrix.copy()
    # The second coordinate: the first holds the mean that all embeddings share.
    matrix[:, 1] += (shift * side[row]).astype(np.float32)
    return Embeddings(embeddings.utterances, embeddings.speakers, matrix).normalised()

"""Who of a corpus is enrolled with what, and what is left to be tested."""

from typing import NamedTuple

import numpy as np

from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.randomness import stream


class EnrolmentSplit(NamedTuple):
    """A corpus in two parts that share no utterance."""

    pool: Corpus
    """What is released: tested and calibrated with."""
    enrolment: Corpus
    """What the attacker holds of each speaker."""
    left_out: list[str]
    """Speakers with too few utterances for both."""
    one_recording: list[str]
    """Speakers whose two parts come from the same recording."""


def split_enrolment(corpus: Corpus, n_enrolment: int, n_pool: int) -> EnrolmentSplit:
    """Set a few utterances of every speaker aside as what the attacker holds.

    Parameters
    ----------
    corpus
        Utterances, perhaps cut from longer recordings (`Corpus.table`'s ``path`` tells).
    n_enrolment
        Utterances that enrol a speaker, the first ones.
    n_pool
        Utterances that the pool needs of a speaker, at least; it gets all that are left. What is
        left of a recording that enrols is kept out of the pool, as long as the speaker's other
        recordings are enough.

    Raises
    ------
    VoicePrivacyError
        If a number is below one, or no speaker has enough utterances.

    Notes
    -----
    Within one recording room, microphone, text and mood are the same for enrolment and test, and
    whoever shares a recording is easier to find than in another one.
    """
    if n_enrolment < 1 or n_pool < 1:
        raise VoicePrivacyError(
            f"{n_enrolment} utterances for enrolment and {n_pool} for the pool; give one or more."
        )
    pool, enrolment, left_out, one_recording = [], [], [], []
    table = corpus.table.sort_values(["path", "start", "utterance"], kind="stable")
    for speaker, own in table.groupby("speaker", sort=True):
        rows, recordings = own.index.to_numpy(), own["path"].to_numpy()
        first, rest = rows[:n_enrolment], rows[n_enrolment:]
        elsewhere = rest[~np.isin(recordings[n_enrolment:], recordings[:n_enrolment])]
        if len(rest) < n_pool:
            left_out.append(speaker)
            continue
        if len(elsewhere) < n_pool:
            one_recording.append(speaker)
        enrolment.extend(first)
        pool.extend(elsewhere if len(elsewhere) >= n_pool else rest)
    if not pool:
        raise VoicePrivacyError(
            f"{corpus.name}: none of {len(left_out)} speakers has {n_enrolment} utterances to "
            f"enrol and {n_pool} to test and calibrate with; cut into shorter pieces, or ask for "
            "fewer."
        )
    parts = (corpus.select(np.sort(part)) for part in (pool, enrolment))
    return EnrolmentSplit(*parts, left_out, one_recording)


def split_speakers(corpus: Corpus, share: float, seed: int = 0) -> tuple[Corpus, Corpus]:
    """Set some speakers aside, such as those that an attacker trains on.

    Parameters
    ----------
    corpus
        Utterances of two speakers or more.
    share
        Of the speakers, between 0 and 1; at least one speaker lands on either side.
    seed
        Of the choice, which does not depend on the order of utterances.

    Returns
    -------
    tuple of Corpus
        The utterances of that share of the speakers, and those of the others.

    Raises
    ------
    VoicePrivacyError
        If the share is not between 0 and 1, or there is but one speaker.
    """
    speakers = np.unique(corpus.table["speaker"].to_numpy(dtype=str))
    if not 0 < share < 1 or len(speakers) < 2:
        raise VoicePrivacyError(
            f"{corpus.name}: a share of {share:g} of {len(speakers)} speakers cannot be set aside; "
            "expected a share between 0 and 1, of two speakers or more."
        )
    count = int(np.clip(round(share * len(speakers)), 1, len(speakers) - 1))
    chosen = stream(seed, "speakers set aside").choice(speakers, count, replace=False)
    apart = corpus.table["speaker"].isin(chosen).to_numpy()
    return corpus.select(apart), corpus.select(~apart)

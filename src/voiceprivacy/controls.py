"""Controls: the same evaluation with what should carry no information taken away."""

import numpy as np

from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.randomness import stream


def enrol_strangers(
    pool: Embeddings, enrolment: Embeddings, *, seed: int = 0
) -> tuple[Embeddings, Embeddings]:
    """Give targets the voices of people who are not in the pool.

    Half of the speakers who stand in both sets leave the pool; their enrolments get the other
    half's names. Singling out with them shows what an attacker reaches who knows nothing of the
    target's voice, with the real scores and all that is correlated in them.

    Parameters
    ----------
    pool, enrolment
        As for `voiceprivacy.singling_out.isolate`.
    seed
        Seed of who leaves, and whose name they get.

    Returns
    -------
    pool, enrolment
        The pool without the strangers, and their enrolments under the names of speakers who stay.

    Raises
    ------
    VoicePrivacyError
        If fewer than two speakers are both in the pool and enrolled.

    Notes
    -----
    Beyond the papers. Isolation does not ask who is isolated: a stranger's voice too may match one
    speaker alone, and often does where a speaker's utterances resemble each other closely.

    Examples
    --------
    >>> ids = np.array(["a", "b"])
    >>> pool, enrolment = Embeddings(ids, ids, np.eye(2)), Embeddings(["c", "d"], ids, np.eye(2))
    >>> pool, enrolment = enrol_strangers(pool, enrolment)
    >>> pool.speakers.tolist() == enrolment.speakers.tolist()
    True
    """
    possible = np.intersect1d(pool.speakers, enrolment.speakers)
    if len(possible) < 2:
        raise VoicePrivacyError(
            f"{len(possible)} speakers are both in the pool and enrolled; expected two or more, "
            "so that some can be strangers to the others."
        )
    half = len(possible) // 2
    strangers, targets = np.split(stream(seed, "strangers").permutation(possible)[: 2 * half], 2)
    theirs = enrolment.of_speakers(strangers)
    name = dict(zip(strangers.tolist(), targets.tolist(), strict=True))
    renamed = [name[speaker] for speaker in theirs.speakers.tolist()]
    return (
        pool.select(~np.isin(pool.speakers, strangers)),
        Embeddings(theirs.utterances, renamed, theirs.matrix),
    )

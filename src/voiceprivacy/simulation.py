"""Simulated speakers and their embeddings, at the papers' scale, for when there are no real ones.

Sessions: A is what set A holds of a speaker; B1 are the utterances of set B by which a target is
enrolled; B2 is the rest of set B. `voiceprivacy.speaker_model` has the model and its presets.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from voiceprivacy.embeddings import Embeddings, concatenate
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.paths import shipped
from voiceprivacy.randomness import stream
from voiceprivacy.speaker_model import PRESETS, SpeakerModel, preset, session_vectors
from voiceprivacy.speakers import checked_speakers

__all__ = [
    "AGE_SHARES",
    "PRESETS",
    "SimulatedCorpus",
    "SpeakerModel",
    "fitted_and_predicted",
    "preset",
    "simulate",
    "simulated_speakers",
    "simulated_targets",
]

# Modelled: close to the shares that Common Voice publishes for English clips; the speakers' own
# are not published. A blank is a speaker who declares no age.
AGE_SHARES = {
    "teens": 0.06,
    "twenties": 0.24,
    "thirties": 0.13,
    "forties": 0.10,
    "fifties": 0.05,
    "sixties": 0.04,
    "seventies": 0.01,
    "": 0.37,
}


class SimulatedCorpus(NamedTuple):
    """Embeddings to evaluate on, and those that the attacker enrols."""

    pool: Embeddings
    """Session A of every speaker, then session B2 of the targets; speaker by speaker."""
    enrolment: Embeddings
    """Session B1 of the targets, in their order."""


def simulated_speakers(seed: int = 0, n_female: int = 5601, n_male: int = 16423) -> pd.DataFrame:
    """Return a table of speakers like those of Common Voice 11.0 English.

    Parameters
    ----------
    seed
        Draws the ages. Speakers already there keep theirs when more are asked for.
    n_female, n_male
        Numbers of women and men; by default those of the papers, 22,024 in all.

    Returns
    -------
    DataFrame
        Columns `speaker`, `gender` ("female", "male") and `age` (Common Voice's words, "" where
        undeclared). Ages are modelled (`AGE_SHARES`), the same for women and men.

    Examples
    --------
    >>> simulated_speakers(n_female=1, n_male=1)[["speaker", "gender"]].values.tolist()
    [['spk-f-00001', 'female'], ['spk-m-00001', 'male']]
    """
    _check_counts(0, n_female=n_female, n_male=n_male)
    words, shares = list(AGE_SHARES), list(AGE_SHARES.values())
    tables = []
    for gender, n in (("female", n_female), ("male", n_male)):
        ids = [f"spk-{gender[0]}-{i:05d}" for i in range(1, n + 1)]
        ages = stream(seed, "age", gender).choice(words, n, p=shares)
        tables.append(pd.DataFrame({"speaker": ids, "gender": gender, "age": ages}, dtype="str"))
    return pd.concat(tables, ignore_index=True)


def simulated_targets(
    speakers: pd.DataFrame, seed: int = 0, n_female: int = 1354, n_male: int = 3595
) -> np.ndarray:
    """Return the ids of the speakers who are also in set B, sorted.

    They are drawn at random among the women and among the men, whatever the order of the rows;
    by default as many as in the papers, 4,949 in all.

    Raises
    ------
    VoicePrivacyError
        If the table has fewer women or men, or `checked_speakers` refuses it.

    Examples
    --------
    >>> len(simulated_targets(simulated_speakers()))
    4949
    """
    _check_counts(0, n_female=n_female, n_male=n_male)
    speakers, chosen = checked_speakers(speakers, ["gender"]), []
    for gender, n in (("female", n_female), ("male", n_male)):
        ids = np.sort(speakers.loc[speakers["gender"] == gender, "speaker"].to_numpy(str))
        if n > len(ids):
            raise VoicePrivacyError(
                f"{n} {gender} targets were asked for, but only {len(ids)} of the speakers are "
                f"{gender}; give a smaller n_{gender}, or more speakers."
            )
        chosen.append(stream(seed, "set B", gender).permutation(ids)[:n])
    return np.sort(np.concatenate(chosen))


def simulate(
    model: SpeakerModel,
    speakers: pd.DataFrame,
    *,
    targets: Iterable[str],
    utterances_a: int = 10,
    utterances_b: int = 10,
    extra_b: int = 0,
    seed: int = 0,
) -> SimulatedCorpus:
    """Return simulated embeddings of all `speakers`, and enrolment embeddings of the `targets`.

    Parameters
    ----------
    model
        The attacker's model: one of `PRESETS`, or your own.
    speakers
        Table with one row a speaker; only its column `speaker` matters.
    targets
        Ids of those who are enrolled (set B), each once.
    utterances_a, utterances_b
        Utterances of each speaker in session A, and of each target in session B1; >= 1.
    extra_b
        Utterances of each target in session B2, added to the pool; >= 0. The papers' long
        conversations need them.
    seed
        A non-negative integer.

    Returns
    -------
    SimulatedCorpus
        `pool` has `len(speakers) * utterances_a + len(targets) * extra_b` rows, `enrolment`
        `len(targets) * utterances_b`, each of length 1 and dimension `model.D`, float32.

    Raises
    ------
    VoicePrivacyError
        If ids repeat, a target is not a speaker, or a number of utterances is too small.

    Notes
    -----
    The random numbers of an utterance depend on the seed, the speaker's id, the session and the
    utterance's number in it, and on nothing else: not on the other speakers or their order, nor
    on how many utterances are asked for. Models of equal `D` share them, so that attackers under
    one seed meet the same voices in the same sessions and their differences are paired.

    Examples
    --------
    >>> people = simulated_speakers(n_female=2, n_male=1)
    >>> corpus = simulate(PRESETS["informed"], people, targets=["spk-f-00002"])
    >>> corpus.pool.matrix.shape, corpus.enrolment.utterances[0].item()
    ((30, 64), 'spk-f-00002-B1-001')
    """
    _check_counts(1, utterances_a=utterances_a, utterances_b=utterances_b)
    _check_counts(0, extra_b=extra_b)
    ids = checked_speakers(speakers, [])["speaker"].to_numpy(str)
    targets = _checked_targets(targets, ids)
    pool = _session(model, ids, "A", utterances_a, seed)
    if extra_b:
        pool = concatenate([pool, _session(model, targets, "B2", extra_b, seed)])
    return SimulatedCorpus(pool, _session(model, targets, "B1", utterances_b, seed))


def fitted_and_predicted() -> pd.DataFrame:
    """Return the published numbers behind each preset, and whether the fit saw them.

    Returns
    -------
    DataFrame
        `preset`, `metric` ("singling out", "linkability", "EER"), `conversation_length`, `n` (N
        for singling out, N' otherwise), `level` of side information ("" for none), `value` as
        published, `status` ("fitted" or "predicted"), `locator` and `note`. The rows of one
        preset are what `simulation_fit.predict` and `simulation_fit.fit` take.

    Notes
    -----
    The family of models (its tail of session shifts, its common mean) was chosen after looking
    at all of the curves, so that "predicted" means only that the parameters did not see a number.
    A sterner test: fitted to linkability and EER alone, the informed attacker's singling out is
    predicted with a mean absolute error of 0.027 (10 points; `tests/test_simulation_fit.py`).

    Examples
    --------
    >>> table = fitted_and_predicted()
    >>> table.loc[table["preset"] == "si_semi_informed", "status"].value_counts().to_dict()
    {'fitted': 4, 'predicted': 3}
    """
    return pd.read_csv(shipped("data", "simulation_calibration.csv"), keep_default_na=False)


def _session(model: SpeakerModel, ids: np.ndarray, session: str, n: int, seed: int) -> Embeddings:
    suffixes = np.array([f"-{session}-{i:03d}" for i in range(1, n + 1)])
    names = np.strings.add(ids[:, None], suffixes).ravel()
    vectors = session_vectors(model, ids, session, n, seed)
    return Embeddings(names, np.repeat(ids, n), vectors.reshape(-1, model.D))


def _checked_targets(targets: Iterable[str], speakers: np.ndarray) -> np.ndarray:
    targets = pd.Series(list(targets), dtype="str")
    if not len(targets):
        raise VoicePrivacyError("There are no targets to enrol; give at least one.")
    if len(repeated := targets[targets.duplicated()].unique()):
        raise VoicePrivacyError(f"Targets repeat: {listed(repeated)}; give each once.")
    if len(strangers := targets[~targets.isin(speakers)]):
        raise VoicePrivacyError(
            f"{len(strangers)} of {len(targets)} targets are not among the {len(speakers)} "
            f"speakers: {listed(strangers)}; give the ids of speakers in the table."
        )
    return targets.to_numpy(str)


def _check_counts(least: int, **counts: int) -> None:
    for name, n in counts.items():
        if n < least:
            raise VoicePrivacyError(f"{name} is {n}, expected at least {least}.")

"""Trials and the vectors they ask for: checked together before anything is scored."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError, listed

COLUMNS = ("speaker", "utterance", "target")


def same_sex_trials(
    enrolment: Embeddings, trial: Embeddings, genders: Mapping[str, str]
) -> pd.DataFrame:
    """Return every trial of an enrolled speaker with an utterance of a speaker of that gender.

    Parameters
    ----------
    enrolment, trial
        The two sides; trial speakers need not be enrolled.
    genders
        Speaker to ``"female"`` or ``"male"``, a mapping or series.

    Returns
    -------
    pandas.DataFrame
        ``speaker`` (enrolled), ``utterance`` (trial), ``target`` (bool). The trial lists of the
        VoicePrivacy Challenge 2024 for LibriSpeech are such full products.

    Raises
    ------
    VoicePrivacyError
        If a speaker's gender is not known.

    Examples
    --------
    >>> e = Embeddings(["e1", "e2"], ["a", "b"], [[1, 0], [0, 1]])
    >>> t = Embeddings(["t1", "t2"], ["a", "c"], [[1, 0], [0, 1]])
    >>> same_sex_trials(e, t, {"a": "female", "b": "male", "c": "female"})
      speaker utterance  target
    0       a        t1    True
    1       a        t2   False
    """
    enrolled = np.unique(enrolment.speakers)
    own = gender_of(enrolled, genders)
    other = gender_of(trial.speakers, genders)
    row, column = np.nonzero(own[:, None] == other)
    return pd.DataFrame(
        {
            "speaker": enrolled[row],
            "utterance": trial.utterances[column],
            "target": enrolled[row] == trial.speakers[column],
        }
    )


def checked_trials(
    trials: pd.DataFrame, enrolment: Embeddings, trial: Embeddings, missing: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the trials that can be scored, and those that cannot with the reason."""
    if missing not in ("error", "drop"):
        raise VoicePrivacyError(f"missing={missing!r}; expected 'error' or 'drop'.")
    absent = [name for name in COLUMNS if name not in trials.columns]
    if absent:
        raise VoicePrivacyError(f"trials have no column {listed(absent)}; expected {COLUMNS}.")
    _check_sides(enrolment, trial)
    _check_twice(trials)
    no_speaker = ~trials["speaker"].isin(enrolment.speakers).to_numpy()
    no_utterance = ~trials["utterance"].isin(trial.utterances).to_numpy()
    lost = _lost(trials, no_speaker, no_utterance)
    if len(lost) and missing == "error":
        raise VoicePrivacyError(_told(lost, len(trials)))
    kept = trials[~(no_speaker | no_utterance)]
    if not len(kept):
        raise VoicePrivacyError(f"no trial can be scored: {_told(lost, len(trials))}")
    _check_labels(kept, trial)
    return kept, lost


def gender_of(speakers: np.ndarray, genders: Mapping[str, str]) -> np.ndarray:
    """Return the gender of each speaker, all known."""
    found = pd.Series(speakers, dtype=str).map(dict(genders))
    unknown = np.unique(np.asarray(speakers)[~found.isin(["female", "male"]).to_numpy()])
    if len(unknown):
        raise VoicePrivacyError(
            f"{len(unknown)} speakers have no gender female or male: {listed(unknown.tolist())}; "
            "an EER a gender needs it (Kaldi: spk2gender)."
        )
    return found.to_numpy(dtype=str)


def speaker_means(embeddings: Embeddings) -> tuple[np.ndarray, np.ndarray]:
    """Return the speakers, sorted, and the plain mean of each one's embeddings, float64."""
    speakers, inverse, counts = np.unique(
        embeddings.speakers, return_inverse=True, return_counts=True
    )
    sums = np.zeros((len(speakers), embeddings.dimension))
    np.add.at(sums, inverse, embeddings.matrix)
    means = sums / counts[:, None]
    gone = speakers[~means.any(axis=1)].tolist()
    if gone:
        raise VoicePrivacyError(f"the embeddings of speakers {listed(gone)} cancel out to zero.")
    return speakers, means


def _check_sides(enrolment: Embeddings, trial: Embeddings) -> None:
    if enrolment.dimension != trial.dimension:
        raise VoicePrivacyError(
            f"enrolment embeddings have {enrolment.dimension} dimensions, trial embeddings "
            f"{trial.dimension}; expected those of one extractor."
        )
    both = np.intersect1d(enrolment.utterances, trial.utterances).tolist()
    if both:
        raise VoicePrivacyError(
            f"{len(both)} utterances stand on both sides, enrolment and trial: {listed(both)}; "
            "an utterance compared with itself says nothing about a speaker."
        )


def _check_twice(trials: pd.DataFrame) -> None:
    twice = trials[trials.duplicated(["speaker", "utterance"])]
    if len(twice):
        raise VoicePrivacyError(
            f"{len(twice)} trials are listed twice: {listed(_named(twice))}; keep one of each."
        )


def _lost(trials: pd.DataFrame, no_speaker: np.ndarray, no_utterance: np.ndarray) -> pd.DataFrame:
    """The trials that lack an embedding on one side or both."""
    lost = no_speaker | no_utterance
    reasons = np.select(
        [no_speaker & no_utterance, no_speaker],
        ["no enrolment, no trial embedding", "no enrolment embedding"],
        "no trial embedding",
    )
    table = trials.loc[lost, ["speaker", "utterance"]]
    line = trials["line"].astype(str) if "line" in trials else pd.Series("", index=trials.index)
    return table.assign(line=line[lost], reason=reasons[lost]).reset_index(drop=True)


def _told(lost: pd.DataFrame, of: int) -> str:
    """What is missing, by reason, with ids and lines."""
    parts = [
        f"{len(rows)} have {reason} ({listed(_named(rows))})"
        for reason, rows in lost.groupby("reason", sort=True)
    ]
    return (
        f"{len(lost)} of {of} trials cannot be scored: {'; '.join(parts)}. Extract what is "
        "missing, or score the others (missing: drop)."
    )


def _named(trials: pd.DataFrame) -> list[str]:
    """Trials by speaker, utterance and, where known, line."""
    lines = trials["line"] if "line" in trials else [""] * len(trials)
    return [
        f"{speaker} {utterance}" + (f" (line {line})" if str(line) else "")
        for speaker, utterance, line in zip(
            trials["speaker"], trials["utterance"], lines, strict=True
        )
    ]


def _check_labels(trials: pd.DataFrame, trial: Embeddings) -> None:
    """Targets are trials of one speaker, and only they."""
    speaker = trial.speakers[pd.Index(trial.utterances).get_indexer(trials["utterance"])]
    wrong = trials[(trials["speaker"].to_numpy() == speaker) != trials["target"].to_numpy(bool)]
    if len(wrong):
        raise VoicePrivacyError(
            f"{len(wrong)} trials have a label that contradicts who speaks: "
            f"{listed(_named(wrong))}; are list and utt2spk of one corpus?"
        )

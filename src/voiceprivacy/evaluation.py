"""The legally validated evaluation: an anonymizer, its attackers, three metrics (V25).

`run_evaluation` does it in one call, `LegalEvaluator` keeps system and extractor for several.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from voiceprivacy._processes import usable_device
from voiceprivacy.attack_models import SAME, SIMILAR, AttackModel, attack_model
from voiceprivacy.conversation_eer import RULES
from voiceprivacy.conversations import check_counts
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.evaluation_results import EvaluationResults
from voiceprivacy.evaluation_work import Work
from voiceprivacy.evidence import named_evidence
from voiceprivacy.extractors import Extractor
from voiceprivacy.measures import measure, whole_numbers
from voiceprivacy.models import find_model
from voiceprivacy.speech_sides import Data, is_speech, read_sides
from voiceprivacy.systems import find_system

LENGTHS, COUNTS = (1, 3, 30), (20, 100, 1000, 10_000)
RESULTS, FAILURES = "results.csv", "failed.csv"
# Everything that is made on the way lies in this folder, and nothing else does.
WORK = "evaluation_work"


class LegalEvaluator:
    """An anonymization system, and the extractor that its attackers begin with.

    Parameters
    ----------
    anonymization_system
        See `voiceprivacy.systems.find_system`: a name, an object of a class of `BaseAnonymizer`, a
        command, a folder of anonymized speech, or None if the test data are anonymized already.
    speaker_embedding_model
        ``"resemblyzer"``, ``"ecapa_tdnn"`` with `extractor_path`, or an
        `voiceprivacy.extractors.Extractor`; trained on original speech.
    extractor_path
        Of a trained model, see `voiceprivacy.models.find_model`.
    parameters
        Of a named system.
    similar_system
        What the semi-informed attacker takes for the system, given in the same ways.
    attacker_settings
        By which semi-informed and informed attackers train, see
        `voiceprivacy.attackers.read_settings`.
    device
        Where attackers train and trained models embed: ``"cpu"``, or ``"cuda"``.
    seed
        Of the system, if `parameters` name none, and of all else that is random.

    Examples
    --------
    >>> LegalEvaluator(anonymization_system="mcadams").system.name
    'mcadams'
    """

    def __init__(
        self,
        anonymization_system: object = None,
        speaker_embedding_model: str | Extractor = "resemblyzer",
        *,
        extractor_path: str | os.PathLike = "",
        parameters: Mapping[str, object] | None = None,
        similar_system: object = None,
        attacker_settings: str = "small",
        device: str = "cpu",
        seed: int = 0,
    ):
        check_counts(0, seed=seed)
        if device != "cpu":
            usable_device(device)
        self.system = find_system(anonymization_system, parameters, seed)
        self.similar = find_system(similar_system, None, seed)
        self.attacker_settings, self.device, self.seed = attacker_settings, device, seed
        self.model = find_model(speaker_embedding_model, extractor_path, device)

    def evaluate(
        self,
        test_data: Data,
        enrollment_data: Data,
        calibration_data: Data | None = None,
        training_data: Data | None = None,
        *,
        conversation_lengths: Sequence[int] = LENGTHS,
        speaker_counts: Sequence[int] = COUNTS,
        attack_models: Sequence[str] = ("ignorant",),
        num_runs: int = 5,
        num_folds: int = 10,
        rule: str = "ROCCH",
        corpus: str = "",
        out: str | os.PathLike | None = None,
        strict: bool = False,
        progress: bool = False,
    ) -> EvaluationResults:
        """Evaluate against each attacker; parameters as of `run_evaluation`."""
        if rule not in RULES:
            raise VoicePrivacyError(f"rule {rule!r}; expected one of {', '.join(RULES)}.")
        lengths = whole_numbers("conversation_lengths", conversation_lengths)
        counts = whole_numbers("speaker_counts", speaker_counts)
        check_counts(num_runs=num_runs, num_folds=num_folds)
        names = [attack_models] if isinstance(attack_models, str) else attack_models
        models = [attack_model(name) for name in names]
        if is_speech(test_data):
            self._check(models, training_data)
        sides = read_sides(
            test_data, enrollment_data, calibration_data, training_data, progress=progress
        )
        if sides.are_embeddings and len(models) != 1:
            raise VoicePrivacyError(
                f"embeddings are of one attacker, but {len(models)} were named; evaluate them one "
                "after another, each on the embeddings that its extractor makes."
            )
        tables, remarks = [], []
        with _folder(out) as folder:
            work = Work(self, sides, folder, strict=strict, progress=progress)
            for model in models:
                parts, extractor = work.embedded(model)
                table, said = measure(
                    *parts, lengths=lengths, sizes=counts, draws=num_runs,
                    splits=num_folds, rule=rule, seed=self.seed,
                    store=folder / "parts" / model.name, progress=progress,
                )  # fmt: skip
                tables.append(self._labelled(table, model, corpus or sides.name, extractor))
                remarks += [remark for remark in said if remark not in remarks]
        return EvaluationResults(pd.concat(tables, ignore_index=True), remarks, work.failed())

    def _check(self, models: list[AttackModel], training: Data | None) -> None:
        """Refuse attackers for whom something is missing, before any work."""
        if not models:
            raise VoicePrivacyError("attack_models is empty; name one or more.")
        needing = {SIMILAR: self.similar, SAME: self.system}
        for model in models:
            if model.trained_on in needing and training is None:
                raise VoicePrivacyError(
                    f"the {model.title} attacker trains on {model.trained_on}: give training_data, "
                    "original speech of other speakers. Without it, lazy_informed can be asked for."
                )
            for side in {model.trained_on, model.enrolment} & set(needing):
                if needing[side] is None:
                    what = "similar_system" if side == SIMILAR else "anonymization_system"
                    raise VoicePrivacyError(f"the {model.title} attacker needs {what}.")

    def _labelled(
        self, table: pd.DataFrame, model: AttackModel, corpus: str, extractor: str
    ) -> pd.DataFrame:
        """The table with what its numbers rest on."""
        table.insert(1, "attacker", model.title)
        system = getattr(self.system, "name", "as given") if model.anonymized else "none"
        return table.assign(
            system=system, extractor=extractor, trained_on=model.trained_on,
            enrolment=model.enrolment, evidence=named_evidence(corpus),
        )  # fmt: skip


def run_evaluation(
    test_data: Data,
    enrollment_data: Data,
    calibration_data: Data | None = None,
    anonymization_system: object = None,
    *,
    out: str | os.PathLike | None = None,
    overwrite: bool = False,
    speaker_embedding_model: str | Extractor = "resemblyzer",
    extractor_path: str | os.PathLike = "",
    parameters: Mapping[str, object] | None = None,
    similar_system: object = None,
    attacker_settings: str = "small",
    device: str = "cpu",
    seed: int = 0,
    **asked: object,
) -> EvaluationResults:
    """Evaluate an anonymization system in one call.

    Parameters
    ----------
    test_data
        Original speech of the people to be protected, as a folder
        ``test/<speaker>/<utterance>.wav`` or a `Corpus`; the system anonymizes it. With
        ``anonymization_system=None`` it is released as it is. Or embeddings, of one attacker.
    enrollment_data
        Other speech of theirs, original, which the attacker holds.
    calibration_data
        More speech to be anonymized, by which thresholds are set; None: what the test conversation
        leaves of `test_data`.
    anonymization_system, speaker_embedding_model, extractor_path, parameters, similar_system, \
attacker_settings, device, seed
        See `LegalEvaluator`.
    conversation_lengths
        Utterances in a conversation, L; by default 1, 3, 30.
    speaker_counts
        Numbers of speakers; by default 20, 100, 1000, 10000. Those that there are not enough
        speakers for are left out with a remark.
    attack_models
        Of `voiceprivacy.attack_models.MODELS`; by default the ignorant attacker.
    training_data
        Original speech of other people, on which semi-informed and informed attackers train.
    num_runs, num_folds
        Random sets of speakers; divisions into conversations. By default 5 and 10, as in V25.
    rule
        Of the EER: ``"ROCCH"``, as in V25, or ``"SpeechBrain"``.
    corpus
        What the data come from, for labels: the name of a corpus, or ``"simulated"``; by default
        the name of the test data.
    out
        A folder for the results (``results.csv``, ``failed.csv``) and for work that is finished:
        an interrupted evaluation goes on when called again.
    overwrite
        Whether results that are there are replaced.
    strict
        Whether an utterance that the system fails on stops everything. Otherwise it is left out
        and told (`EvaluationResults.failed`).
    progress
        Show bars on stderr.

    Returns
    -------
    EvaluationResults
        ``for metric, scores in results.items(): print(metric, scores)``.

    Raises
    ------
    VoicePrivacyError
        If data, system, model or attacker cannot be had, or results are there already.

    Notes
    -----
    Attackers who anonymize enrolment or training speech do so with another seed than the system's:
    they know the method, not the key.

    Examples
    --------
    >>> from voiceprivacy.simulation import PRESETS, simulate, simulated_speakers
    >>> people = simulated_speakers(n_female=20, n_male=20)
    >>> released, held = simulate(PRESETS["original"], people, targets=people["speaker"])
    >>> results = run_evaluation(
    ...     released, held, conversation_lengths=[3], speaker_counts=[20], corpus="simulated"
    ... )
    >>> {metric: round(float(scores["observed"][0]), 2) for metric, scores in results.items()}
    {'singling out': 0.83, 'linkability': 0.94, 'EER': 0.05}
    """
    if out is not None and Path(out).is_file():
        raise VoicePrivacyError(f"{out} is a file; results go into a folder (out).")
    if out is not None and Path(out, RESULTS).exists() and not overwrite:
        raise VoicePrivacyError(
            f"{Path(out, RESULTS)} is already there; name another folder, or replace it "
            "(overwrite)."
        )
    evaluator = LegalEvaluator(
        anonymization_system, speaker_embedding_model, extractor_path=extractor_path,
        parameters=parameters, similar_system=similar_system,
        attacker_settings=attacker_settings, device=device, seed=seed,
    )  # fmt: skip
    if out is not None and overwrite and Path(out, RESULTS).exists():
        shutil.rmtree(Path(out, WORK), ignore_errors=True)
    results = evaluator.evaluate(test_data, enrollment_data, calibration_data, out=out, **asked)
    if out is not None:
        results.failed.to_csv(Path(out, FAILURES), index=False, lineterminator="\n")
        results.to_csv(Path(out, RESULTS))
        shutil.rmtree(Path(out, WORK, "parts"), ignore_errors=True)
    return results


@contextmanager
def _folder(out: str | os.PathLike | None):
    """The folder for finished work, or one that is removed afterwards."""
    if out is not None:
        yield Path(out, WORK)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)

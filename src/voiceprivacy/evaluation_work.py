"""The work behind an evaluation: speech anonymized, attackers trained, embeddings extracted."""

import copy
import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from voiceprivacy._anonymizer import BaseAnonymizer
from voiceprivacy.anonymize import anonymized
from voiceprivacy.attack_models import SAME, SIMILAR, AttackModel
from voiceprivacy.corpora import Corpus
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.evaluation_results import FAILED
from voiceprivacy.extractors import Extractor, extract
from voiceprivacy.precomputed import Precomputed
from voiceprivacy.speech_sides import Side, Sides
from voiceprivacy.systems import System

if TYPE_CHECKING:
    from voiceprivacy.evaluation import LegalEvaluator


class Work:
    """One evaluation's speech, anonymized and embedded once for all attackers."""

    def __init__(
        self,
        evaluator: "LegalEvaluator",
        sides: Sides,
        folder: Path,
        *,
        strict: bool,
        progress: bool,
    ):
        self.evaluator, self.sides, self.folder = evaluator, sides, folder
        self.strict, self.progress = strict, progress
        self._made: dict[tuple, Corpus] = {}
        self._failed: list[tuple] = []
        self._model = cache(evaluator.model)  # loaded once for all attackers
        self._note(*(vars(sides).values() if not sides.are_embeddings else ()))

    def embedded(self, model: AttackModel) -> tuple[list[Embeddings | None], str]:
        """Return test, enrolment and calibration embeddings as an attacker has them."""
        sides = self.sides
        if sides.are_embeddings:
            return [sides.test, sides.enrollment, sides.calibration], "as given"
        released = SAME if model.anonymized else ""
        extractor = self._extractor(model)
        speech = [
            self._through(sides.test, "test", released),
            self._through(sides.enrollment, "enrollment", model.enrolment),
            self._through(sides.calibration, "calibration", released),
        ]
        store = self.folder / "embeddings"
        made = [
            None if part is None
            else extract(part, extractor, store=store, progress=self.progress)
            for part in speech
        ]  # fmt: skip
        return made, extractor.name

    def _through(self, speech: Side | None, part: str, which: str) -> Corpus | None:
        """Speech, anonymized by the same or the similar system, or as it is."""
        systems = {SAME: self.evaluator.system, SIMILAR: self.evaluator.similar}
        system = systems.get(which)
        if speech is None or system is None:
            return speech
        if part in ("enrollment", "training"):
            system = _with_other_key(system)
        key = part, which
        if key not in self._made:
            name = f"{'similar' if which == SIMILAR else 'same'}-{part}"
            self._made[key] = self._anonymized(speech, system, self.folder / "anonymized" / name)
            self._note(self._made[key])
        return self._made[key]

    def _anonymized(self, speech: Corpus, system: System, place: Path) -> Corpus:
        if isinstance(system, Precomputed):
            return self._found(system, speech)
        if not isinstance(system, BaseAnonymizer):
            return system.of(speech, place, strict=self.strict, progress=self.progress)
        return anonymized(
            speech, system, place, strict=self.strict, progress=self.progress,
            workers=os.cpu_count() or 1,
        )  # fmt: skip

    def _found(self, system: Precomputed, speech: Corpus) -> Corpus:
        """Speech anonymized elsewhere, no file of it in two parts."""
        found = system.of(speech)
        for other in self._made.values():
            both = sorted(set(found.table["path"]) & set(other.table["path"]))
            if both:
                raise VoicePrivacyError(
                    f"{both[0]} would be taken for an utterance of two parts ({speech.name} and "
                    f"{other.name}), which name files alike; divide {system.path} into folders "
                    f"{speech.name} and {other.name}."
                )
        return found

    def _extractor(self, model: AttackModel) -> Extractor:
        """The attacker's extractor, trained if it has to be."""
        if model.trained_on not in (SAME, SIMILAR):
            return self._model()
        training = self._through(self.sides.training, "training", model.trained_on)
        from voiceprivacy.attackers import read_settings, train

        chosen = replace(read_settings(self.evaluator.attacker_settings), seed=self.evaluator.seed)
        place = self.folder / "attackers" / model.name
        return train(
            training, None, chosen, place, device=self.evaluator.device, progress=self.progress
        )

    def failed(self) -> pd.DataFrame:
        """Return the utterances that could not be used, and why."""
        table = pd.DataFrame(self._failed, columns=FAILED, dtype=str)
        return table.drop_duplicates(ignore_index=True)

    def _note(self, *corpora: Corpus | None) -> None:
        """Keep what could not be used, for the report."""
        for corpus in corpora:
            if corpus is not None:
                for row in corpus.skipped.itertuples():
                    part, _, name = row.utterance.partition("/")
                    self._failed.append((part, name, row.reason, row.detail))


def _with_other_key(system: System) -> System:
    """The same system with another seed, if it has one."""
    if not hasattr(system, "seed"):
        return system
    other = copy.copy(system)
    object.__setattr__(other, "seed", (system.seed or 0) + 1)
    return other

"""The side-information study (SI): its speakers, their geography and an attacker's embeddings.

With nothing given, speakers and embeddings are simulated at the paper's scale and the geography
is assigned from the shipped census figures. With a folder of embeddings, and an assignment if
there is one, the same study runs on those.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy.assignment import CONSTRAINTS, assign, read_geolocation
from voiceprivacy.census import OutputAreas, default_output_areas, read_output_areas
from voiceprivacy.conversations import count_eligible
from voiceprivacy.embeddings import Embeddings, read_embeddings
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.evidence import evidence_of
from voiceprivacy.gender import gendered
from voiceprivacy.isolation import Isolation
from voiceprivacy.randomness import stream
from voiceprivacy.simulation import PRESETS, simulate, simulated_speakers, simulated_targets
from voiceprivacy.singling_out import isolate
from voiceprivacy.speakers import read_speakers

ATTACKERS = {"semi-informed": "si_semi_informed", "ignorant": "ignorant"}
LEVELS = ("MSOA", "LSOA", "OA", "HH")
SIZES = (30, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 22_024)

# A speaker needs 10 L utterances: L to test with and 9 L to calibrate with (SI, Sec. IV-B).
CONVERSATIONS = 10
# Set A holds about ten utterances a speaker, so longer conversations need set B's; this many of
# its speakers have enough of them for L = 30 (V25's largest N is 3,443; women in B's proportion).
LONG_SPEAKERS = {"n_female": 942, "n_male": 2_501}


@dataclass(frozen=True)
class Study:
    """One setting of the study.

    Parameters
    ----------
    embeddings
        Folder with ``<attacker>/pool.*`` and ``<attacker>/enrolment.*`` in any format of
        `voiceprivacy.embeddings`; empty: simulated.
    geolocation
        An assignment such as the authors' ``geolocation.csv``; empty: assigned here.
    corpus
        Name of the corpus that the embeddings come from, for the evidence label.
    people
        Table of speakers with gender and age, see `voiceprivacy.speakers.read_speakers`; empty:
        simulated. The speakers of `embeddings` need it to be assigned here.
    census
        Folder of official census tables; empty: the shipped areas shaped after Rutland.
    constraints, households
        How geography is assigned, see `voiceprivacy.assignment.assign`.
    gender_shift
        How far apart simulated women and men are moved, see `voiceprivacy.gender.gendered`.
    seed
        Seed of the simulation, the assignment and the evaluation.

    Examples
    --------
    >>> Study().evidence
    'simulated embeddings'
    """

    embeddings: str = ""
    geolocation: str = ""
    corpus: str = "Common Voice 11"
    people: str = ""
    census: str = ""
    constraints: Collection[str] = CONSTRAINTS
    households: str = "census"
    gender_shift: float = 0.0
    seed: int = 0
    _kept: dict = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self):
        if self.embeddings and self.gender_shift:
            raise VoicePrivacyError(
                f"gender_shift = {self.gender_shift} moves simulated embeddings only; leave it at "
                f"0 with the embeddings in {self.embeddings}."
            )

    @property
    def evidence(self) -> str:
        """The evidence label of everything that the study measures."""
        if self.embeddings:
            return evidence_of("speech", corpus=self.corpus)
        return evidence_of("simulated")

    def speakers(self) -> pd.DataFrame:
        """The speakers: `speaker`, `gender`, `age`."""
        return self._once("speakers", self._speakers)

    def areas(self) -> OutputAreas:
        """The census areas that speakers are assigned to."""
        return self._once("areas", self._areas)

    def geography(self) -> pd.DataFrame:
        """Every speaker's areas and household class, indexed by speaker, coarse to fine."""
        return self._once("geography", self._geography)

    def voices(self, attacker: str, length: int) -> tuple[Embeddings, Embeddings]:
        """Return the pool and the enrolment as one attacker's extractor sees them.

        The last ones asked for are kept, so that many evaluations of them cost one simulation.

        Raises
        ------
        VoicePrivacyError
            If there is no such attacker, or its files are missing.
        """
        if self._kept.get("heard") != (attacker, length):
            self._kept.pop("voices", None)  # large, so not beside the next ones
            voices = self._voices(attacker, length)
            if self.gender_shift:
                voices = tuple(gendered(v, self.speakers(), self.gender_shift) for v in voices)
            self._kept.update(heard=(attacker, length), voices=voices)
        return self._kept["voices"]

    def _voices(self, attacker: str, length: int) -> tuple[Embeddings, Embeddings]:
        if self.embeddings:
            folder = Path(self.embeddings) / attacker
            return _read_one(folder, "pool"), _read_one(folder, "enrolment")
        if attacker not in ATTACKERS:
            raise VoicePrivacyError(
                f"attacker {attacker!r}; expected one of {listed(ATTACKERS)}, or bring embeddings."
            )
        few = LONG_SPEAKERS if length > 3 else {}
        set_b = simulated_targets(self.speakers(), self.seed, **few)
        return simulate(
            PRESETS[ATTACKERS[attacker]],
            self.speakers() if length == 1 else self.speakers()[lambda t: t.speaker.isin(set_b)],
            targets=set_b,
            extra_b=CONVERSATIONS * (length - 1),
            seed=self.seed,
        )

    def isolate(
        self, attacker: str, length: int = 1, *, sizes: Sequence[int] = SIZES, **options
    ) -> Isolation:
        """Evaluate one attacker at one conversation length by the paper's protocol.

        Parameters
        ----------
        sizes
            N; those beyond the eligible speakers are replaced by their number.
        **options
            As for `voiceprivacy.singling_out.isolate`.
        """
        pool, enrolment = self.voices(attacker, length)
        eligible = count_eligible(pool, CONVERSATIONS * length)
        options = {"side_information": self.geography()[list(LEVELS)], "seed": self.seed} | options
        return isolate(
            pool,
            enrolment,
            sizes=sorted({min(size, eligible) for size in sizes}),
            length=length,
            **{"min_conversations": CONVERSATIONS} | options,
        )

    def targets_by_class(
        self, attacker: str, length: int = 1, *, column: str = "HH", n: int = 495
    ) -> np.ndarray:
        """Draw equally many targets from every class, so that rare classes have enough.

        Parameters
        ----------
        column
            A column of `geography`, such as the household class.
        n
            Targets of each class; a class that has fewer enrolled speakers gives all of them.

        Returns
        -------
        numpy.ndarray
            Ids for ``isolate(targets=...)``, whose ``summary(by=column)`` then has `n` targets a
            class. Means over all of them weigh the classes alike, not as the speakers do.

        Raises
        ------
        VoicePrivacyError
            If no enrolled speaker has the utterances that the length needs.
        """
        pool, enrolment = self.voices(attacker, length)
        speakers, counts = np.unique(pool.speakers, return_counts=True)
        needed = CONVERSATIONS * length
        able = np.intersect1d(speakers[counts >= needed], enrolment.speakers)
        if not len(able):
            raise VoicePrivacyError(
                f"no enrolled speaker has the {needed} utterances in the pool that L = {length} "
                "needs; choose shorter conversations, or bring more utterances."
            )
        classes = self.geography()[column].reindex(able)
        drawn = [
            stream(self.seed, "targets", column, str(value)).permutation(ids.to_numpy(str))[:n]
            for value, ids in classes.index.to_series().groupby(classes)
        ]
        return np.sort(np.concatenate(drawn))

    def _geography(self) -> pd.DataFrame:
        if self.geolocation:
            table = read_geolocation(self.geolocation)
        else:
            table = assign(
                self.speakers(),
                self.areas(),
                constraints=self.constraints,
                households=self.households,
                seed=self.seed,
            )
        return table.set_index("spk_id")[["LAD", *LEVELS]]

    def _speakers(self) -> pd.DataFrame:
        return read_speakers(self.people) if self.people else simulated_speakers(self.seed)

    def _areas(self) -> OutputAreas:
        return read_output_areas(self.census) if self.census else default_output_areas()

    def _once(self, name: str, compute):
        if name not in self._kept:
            self._kept[name] = compute()
        return self._kept[name]


def _read_one(folder: Path, name: str) -> Embeddings:
    """Read the one file of this name, whatever its format."""
    found = sorted(folder.glob(f"{name}.*"))
    if len(found) != 1:
        raise VoicePrivacyError(
            f"{folder}: expected one file {name}.h5, .npz or .parquet, found {len(found)}; "
            "give a folder with one folder an attacker, each with pool.* and enrolment.*"
        )
    return read_embeddings(found[0])

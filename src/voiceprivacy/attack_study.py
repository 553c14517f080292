"""What the notebooks on SegReConcat have in common: speech, attacker, and runs that are kept."""

import os
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from pathlib import Path

from voiceprivacy._progress import quiet_bars
from voiceprivacy.anonymizers import by_name
from voiceprivacy.attack_data import AttackData, spoken, vpac_data
from voiceprivacy.attackers import read_settings
from voiceprivacy.attacks import AttackRun, attack_all
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.evidence import evidence_of
from voiceprivacy.segmentation import WhisperRecogniser


class AttackStudy:
    """Attacks on anonymization systems, on the attacker challenge's data or on speech made here.

    Parameters
    ----------
    vpac
        The folder of the VoicePrivacy Attacker Challenge's data; empty: synthetic speech, made
        and anonymized on the spot (see `voiceprivacy.attack_data.spoken`).
    timestamps
        With `vpac`: a folder with the training speech's word times, ``<system>.csv``.
    settings
        The attacker's, see `voiceprivacy.attackers.read_settings`.
    n_steps
        Training steps of every run; 0: as the settings say.
    whisper
        The Whisper model by whose encoder SR compares words.
    device
        Where attackers are trained.
    folder
        Where speech and finished runs are kept; empty: ``build/attacks``.
    seed
        Of the synthetic speech.
    workers
        Runs side by side; 0: as many as there are cores.
    progress
        Show bars on stderr.
    **speech
        Numbers of speakers and utterances of the synthetic speech, see `spoken`.
    """

    def __init__(
        self,
        vpac: str = "",
        timestamps: str = "",
        *,
        settings: str = "small",
        n_steps: int = 0,
        whisper: str = "packaged",
        device: str = "cpu",
        folder: str = "",
        seed: int = 0,
        workers: int = 0,
        progress: bool = False,
        **speech: int,
    ):
        if bool(vpac) != bool(timestamps):
            raise VoicePrivacyError(
                "the challenge's data and their word times go together: give both vpac and "
                "timestamps (voiceprivacy segment finds words), or neither."
            )
        quiet_bars()  # librosa's
        self.vpac, self.timestamps, self.whisper, self.device = vpac, timestamps, whisper, device
        self.folder = Path(folder or "build/attacks")
        self.seed, self.progress, self.speech = seed, progress, speech
        self.workers = workers or os.cpu_count() or 1
        self._known: dict[str, AttackData] = {}
        self.settings = read_settings(settings)
        if n_steps:
            every = min(self.settings.evaluate_every or n_steps, max(n_steps // 5, 1))
            self.settings = replace(self.settings, max_steps=n_steps, evaluate_every=every)

    def data(self, system: str) -> AttackData:
        """Return one anonymization system's speech, read or made once."""
        if system not in self._known:
            self._known[system] = self._data(system)
        return self._known[system]

    def _data(self, system: str) -> AttackData:
        if self.vpac:
            return vpac_data(self.vpac, system, Path(self.timestamps, f"{system}.csv"))
        return spoken(
            self.folder / "speech",
            system,
            **self.speech,
            seed=self.seed,
            workers=self.workers,
            progress=self.progress,
        )

    def run(
        self, systems: Iterable[str], rows: Iterable[str], seeds: Iterable[int]
    ) -> list[AttackRun]:
        """Attack every system with every row under every seed; see `attack_all`."""
        rows, systems = list(rows), list(systems)
        by_meaning = any(self.settings.for_row(r).augmentation.strategy == "sr" for r in rows)
        return attack_all(
            self._all_data(systems),
            rows,
            seeds,
            self.settings,
            self.folder / "runs",
            workers=self.workers,
            device=self.device,
            encoder=self._encoder() if by_meaning else None,
            progress=self.progress,
        )

    def _all_data(self, systems: list[str]) -> list[AttackData]:
        """The speech of several systems, made side by side once there is something to anonymize."""
        from joblib import Parallel, delayed

        if not self.vpac:  # a wrong name is told before speech is made
            for system in systems:
                by_name(system)
        for system in systems[:1]:
            self.data(system)
        alone = copy(self)
        alone.workers = 1
        rest = [system for system in systems if system not in self._known]
        made = Parallel(self.workers)(delayed(alone._data)(system) for system in rest)
        self._known |= zip(rest, made, strict=True)
        return [self.data(system) for system in systems]

    def _encoder(self) -> WhisperRecogniser:
        # Words are too short for several threads to be of use.
        return WhisperRecogniser(self.whisper, device=self.device.partition(":")[0], threads=1)

    def evidence(self, system: str) -> str:
        """Return the label of what comes from this study."""
        return evidence_of("speech", corpus=self.data(system).training.name)

"""Anonymization systems that are programs: run over a whole Kaldi directory, and not believed."""

import glob
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import numpy as np
from tqdm import tqdm

from voiceprivacy import _conversion as conversion
from voiceprivacy._audio import RATE, audio_packages
from voiceprivacy._conversion import UTTERANCES, Job, Outcome
from voiceprivacy._returned import SCALED, taken
from voiceprivacy._wav_scp import sounds_below
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.external import filled
from voiceprivacy.kaldi import write_kaldi

TAIL = 5
LOOK_EVERY_S = 5.0


class Places(NamedTuple):
    """Where a run works: a folder of its own, and in it the Kaldi directory that is asked for."""

    work: Path
    dataset: str
    suffix: str
    seed: int = 0

    @property
    def input(self) -> Path:
        """The Kaldi directory to anonymize."""
        return self.work / "data" / self.dataset

    @property
    def output(self) -> Path:
        """An empty folder for what the program makes."""
        return self.work / "output"

    @property
    def log(self) -> Path:
        """What the program says."""
        return self.work / "log.txt"

    def known(self) -> dict[str, str]:
        """Return what stands for each placeholder of a command."""
        names = ("work", "dataset", "suffix", "seed", "input", "output")
        return {name: str(getattr(self, name)) for name in names}


@dataclass(frozen=True)
class ExternalSystem:
    """A program that anonymizes a Kaldi directory, checked by what it brings back.

    Parameters
    ----------
    command
        The program and its arguments, no shell between. ``{input}`` stands for the Kaldi directory
        (``wav.scp``, ``utt2spk``, ``spk2utt``, ``utt2dur``; sound as 16-bit wav, mono, 16 kHz),
        ``{output}`` for an empty folder, ``{suffix}``, ``{seed}``, ``{dataset}`` (the
        directory's own name) and ``{work}`` (the folder around all) for themselves.
    name
        What tables and files call it.
    outputs
        Folders below which sound named by utterances is looked for; placeholders and ``*`` work.
    folder
        Where the program is called; by default where we are.
    suffix
        What the program appends to the name of a directory, as the recipes of the challenges do.
    dataset
        The name of the Kaldi directory, where a program goes by it.
    tables
        A Kaldi directory whose ``spk2gender`` and ``text`` are handed on, if the program needs
        them.
    prepare
        Called before the program, such as to write a configuration.
    rate
        Samples a second that are expected back.
    seed
        For ``{seed}``.
    """

    command: tuple[str, ...]
    name: str = "external"
    outputs: tuple[str, ...] = ("{output}", "{input}{suffix}")
    folder: str = ""
    suffix: str = "_anon"
    dataset: str = "speech"
    tables: str = ""
    prepare: Callable[[Places], None] | None = None
    rate: int = RATE
    seed: int = 0

    def __post_init__(self):
        program = self.command[0] if self.command else ""
        place = program if "/" not in program else str(Path(self.folder, program))
        if shutil.which(place) is None:
            raise VoicePrivacyError(
                f"{self.name}: there is no program {program!r}; install it, or give its whole path."
            )

    def of(
        self, corpus: Corpus, out: str | os.PathLike, *, strict: bool = False, progress=False
    ) -> Corpus:
        """Anonymize a corpus into a folder.

        Parameters
        ----------
        corpus
            What to anonymize.
        out
            As of `voiceprivacy.anonymize.anonymized`. The program works in ``<out>.run``, which is
            removed when everything came back; its words stand in ``<out>.run/log.txt``. What was
            finished is kept: when called again, only what is missing is asked for.
        strict
            Whether one utterance that does not come back as it should stops everything.
        progress
            Show a bar on stderr.

        Returns
        -------
        Corpus
            The same ids and speakers. `Corpus.skipped` gains what is ``not returned``, ``cut
            short``, ``unreadable``, ``empty``, at a ``wrong rate``, ``made silent`` or
            ``unchanged``.

        Raises
        ------
        VoicePrivacyError
            If the program fails, with its last words, or nothing usable comes back.
        """
        out = Path(out)
        todo = conversion.jobs(corpus, out)
        conversion.claim(out, self._settings(corpus))
        work = out.resolve().with_name(f"{out.name}.run")
        places = Places(work, self.dataset, self.suffix, self.seed)
        outcomes = self._gathered(todo, places)
        asked = [job for job, outcome in zip(todo, outcomes, strict=True) if outcome.reason]
        if asked:
            unreadable = self._hand_over(corpus, asked, places)
            status = self._run(places, len(asked) - len(unreadable), progress)
            outcomes = [
                unreadable.get(job.utterance, outcome)
                for job, outcome in zip(todo, self._gathered(todo, places), strict=True)
            ]
            self._refuse_failed(status, outcomes, places, strict)
        result = conversion.result(corpus, todo, outcomes, _notes, f"{self.name} gave nothing back")
        self._write_utterances(out / UTTERANCES, todo, outcomes)
        if not any(outcome.reason for outcome in outcomes):
            shutil.rmtree(work, ignore_errors=True)
        return result

    def _settings(self, corpus: Corpus) -> dict[str, object]:
        own = {key: value for key, value in vars(self).items() if key != "prepare"}
        return {"corpus": corpus.name, "system": self.name, "parameters": own}

    def _hand_over(self, corpus: Corpus, asked: list[Job], places: Places) -> dict[str, Outcome]:
        """Write the Kaldi directory of what is asked for; return what cannot be read."""
        soundfile, _ = audio_packages()
        shutil.rmtree(places.input, ignore_errors=True)
        (places.input / "wav").mkdir(parents=True)
        places.output.mkdir(exist_ok=True)
        rows, unreadable = [], {}
        for job in asked:
            path = places.input / "wav" / f"{_key(job)}.wav"
            try:
                samples = np.round(job.said.samples() * 32768).clip(-32768, 32767)
            except (VoicePrivacyError, OSError) as error:
                unreadable[job.utterance] = Outcome(reason="unreadable", detail=str(error))
                continue
            soundfile.write(path, samples.astype(np.int16), RATE, subtype="PCM_16")
            rows.append((_key(job), job.speaker, str(path), np.nan, np.nan))
        if not rows:
            raise VoicePrivacyError(f"{corpus.name}: none of {len(asked)} utterances can be read.")
        table = type(corpus.table)(rows, columns=corpus.table.columns)
        write_kaldi(places.input, replace(corpus, table=table), like=self.tables or None)
        if self.prepare:
            self.prepare(places)
        return unreadable

    def _run(self, places: Places, asked: int, progress: bool) -> int:
        """Call the program, with a bar of what it has made; return its status."""
        words = [filled(word, places.known()) for word in self.command]
        with (
            places.log.open("wb") as log,
            tqdm(total=asked, disable=not progress, unit="utterance", desc=self.name) as bar,
        ):
            process = subprocess.Popen(
                words, cwd=self.folder or None, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                while process.poll() is None:
                    try:
                        process.wait(LOOK_EVERY_S)
                    except subprocess.TimeoutExpired:
                        bar.update(min(asked, len(self._returned(places))) - bar.n)
            finally:
                _end(process)
            bar.update(min(asked, len(self._returned(places))) - bar.n)
        return process.returncode

    def _returned(self, places: Places) -> dict[str, Path]:
        """The sound files that the program has left, by their names."""
        known = {key: glob.escape(value) for key, value in places.known().items()}
        found: dict[str, Path] = {}
        for pattern in self.outputs:
            for folder in sorted(glob.glob(filled(pattern, known))):
                found = {k: s.path for k, s in sounds_below(Path(folder)).items()} | found
        return found

    def _gathered(self, todo: list[Job], places: Places) -> list[Outcome]:
        """Take over what has come back and is as it should be; other files go."""
        returned = self._returned(places)
        outcomes = []
        for job in todo:
            path = returned.get(_key(job))
            if job.is_done:
                outcomes.append(conversion.found(job.path))
            elif path is None:
                detail = f"{self.name} left no file {_key(job)}.*"
                outcomes.append(Outcome(reason="not returned", detail=detail))
            else:
                outcomes.append(taken(job, path, self.rate))
                if path.is_relative_to(places.work):
                    path.unlink()
        return outcomes

    def _refuse_failed(
        self, status: int, outcomes: list[Outcome], places: Places, strict: bool
    ) -> None:
        wrong = [outcome for outcome in outcomes if outcome.reason]
        kept = f"{len(outcomes) - len(wrong)} of {len(outcomes)} utterances are done and kept"
        if status:
            lines = places.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            last = " / ".join(lines[-TAIL:]) or "nothing"
            raise VoicePrivacyError(
                f"{self.name} ended with status {status}; it said last: {last}. All of it: "
                f"{places.log}. {kept}; start again to go on."
            )
        if strict and wrong:
            raise VoicePrivacyError(
                f"{self.name}: {wrong[0].reason}: {wrong[0].detail}. {kept}; {places.log} may "
                "tell more."
            )

    def _write_utterances(self, path: Path, todo: list[Job], outcomes: list[Outcome]) -> None:
        rows = [
            (job.utterance, job.speaker, o.n_samples, *(o.comment.partition(" ")[::2]))
            for job, o in zip(todo, outcomes, strict=True)
            if not o.reason
        ]
        conversion.write_table(
            path, rows, ["utterance", "speaker", "samples", "time_factor", "note"]
        )


def _key(job: Job) -> str:
    """An id as a file's name: itself, unless it holds blanks or slashes."""
    return quote(job.utterance, safe="")


def _end(process: subprocess.Popen) -> None:
    """End a program that still runs, and what it has started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def _notes(outcome: Outcome) -> Mapping[str, str]:
    is_scaled = outcome.comment.endswith(SCALED)
    return {SCALED: f"{outcome.comment}: came back beyond full scale"} if is_scaled else {}

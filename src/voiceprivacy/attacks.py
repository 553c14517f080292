"""Attack runs over systems, rows and seeds: each is done once, several of them side by side.

What a finished run needs to be told apart from another is in its folder's name: settings, speech
and the code of this package. A study that is interrupted, or asked for more, goes on.
"""

import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from warnings import catch_warnings, filterwarnings

import numpy as np
from tqdm import tqdm

from voiceprivacy.attack_data import AttackData, Subset
from voiceprivacy.attackers import Attacker, AttackerSettings, train
from voiceprivacy.attackers import row as known_row
from voiceprivacy.corpora import Corpus
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.extractors import extract
from voiceprivacy.files import written_whole
from voiceprivacy.segreconcat import Encoder, SegReConcat
from voiceprivacy.sources import source_digest
from voiceprivacy.verification import (
    Verification,
    joined,
    read_verification,
    same_sex_trials,
    verify,
    write_verification,
)

SCORES, ABOUT = "scores.npz", "run.json"
BY_SIMILARITY = ("ar", "sr")
Orders = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class AttackRun:
    """A finished run.

    Parameters
    ----------
    system, row, seed
        What was attacked, with which augmentation, under which training seed.
    verification
        The scores of its trials.
    steps
        Training steps done, and which of them gave the model that was scored.
    best_step
        The step with the lowest development loss.
    dev_loss
        That loss.
    accuracy
        Share of training pieces whose speaker was named rightly, at the end.
    """

    system: str
    row: str
    seed: int
    verification: Verification
    steps: int
    best_step: int
    dev_loss: float
    accuracy: float


def attack(
    data: AttackData,
    settings: AttackerSettings,
    folder: str | os.PathLike,
    *,
    row: str,
    seed: int = 0,
    device: str = "cpu",
    encoder: Encoder | None = None,
    orders: Orders | None = None,
    progress: bool = False,
) -> AttackRun:
    """Train one attacker and score it; a finished run is read, an interrupted one goes on.

    Parameters
    ----------
    data
        The anonymization system.
    settings
        The attacker's, whatever their augmentation and seed.
    folder
        Where runs are kept, each in a folder of its own.
    row
        A row of Table 1, or one of our controls, see `voiceprivacy.attackers.row`.
    seed
        Of the training.
    device, encoder, orders, progress
        See `voiceprivacy.attackers.train`.

    Returns
    -------
    AttackRun
    """
    row = known_row(row)["name"]
    settings = replace(settings.for_row(row), seed=seed)
    place = Path(folder, _run_name(data, settings, row))
    if not (place / ABOUT).exists():
        attacker = train(
            data.training, data.words, settings, place / "training",
            device=device, encoder=encoder, orders=orders, progress=progress,
        )  # fmt: skip
        write_verification(scored(data.subsets, attacker), place / SCORES)
        _write_about(attacker, place / ABOUT)
    about = json.loads((place / ABOUT).read_text(encoding="utf-8"))
    return AttackRun(data.system, row, seed, read_verification(place / SCORES), **about)


def attack_all(
    systems: Iterable[AttackData],
    rows: Iterable[str],
    seeds: Iterable[int],
    settings: AttackerSettings,
    folder: str | os.PathLike,
    *,
    workers: int = 1,
    device: str = "cpu",
    encoder: Encoder | None = None,
    progress: bool = False,
) -> list[AttackRun]:
    """Attack every system with every row under every seed.

    Parameters
    ----------
    systems
        What is attacked.
    rows, seeds, settings, folder, device
        See `attack`.
    workers
        Runs side by side, each in a process of one thread. Results do not depend on it.
    encoder
        What SR compares words by; only its rows need one.
    progress
        Show bars on stderr.

    Returns
    -------
    list of AttackRun
        By system, then row, then seed, in the orders given.

    Raises
    ------
    VoicePrivacyError
        If there are no systems, rows or seeds.
    """
    from joblib import Parallel, delayed, parallel_config

    folder = Path(folder)
    systems, rows, seeds = list(systems), list(rows), list(seeds)
    for name, values in (("systems", systems), ("rows", rows), ("seeds", seeds)):
        if not values:
            raise VoicePrivacyError(f"{name}: nothing to attack in an empty list; name one.")
    orders = {
        (data.system, strategy): _orders(data, settings, strategy, folder, encoder, workers)
        for data in systems
        for strategy in sorted({settings.for_row(row).augmentation.strategy for row in rows})
        if strategy in BY_SIMILARITY
    }
    # Read by OpenMP when torch loads it: waiting threads must not spin on a shared core.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    jobs = [
        delayed(attack)(
            data, settings, folder, row=row, seed=seed, device=device,
            orders=orders.get((data.system, settings.for_row(row).augmentation.strategy)),
        )
        for data, row, seed in itertools.product(systems, rows, seeds)
    ]  # fmt: skip
    with parallel_config("loky", n_jobs=workers, inner_max_num_threads=1), catch_warnings():
        # joblib replaces a worker that has grown and repeats nothing: no concern of a reader's.
        filterwarnings("ignore", message="A worker stopped while some jobs")
        runs = Parallel(return_as="generator", batch_size=1)(jobs)
        return list(tqdm(runs, total=len(jobs), disable=not progress, unit="run"))


def scored(subsets: Mapping[str, Subset], attacker: Attacker) -> Verification:
    """Score an attacker on all subsets, as the attacker challenge does."""
    return joined(_scored(name, subset, attacker) for name, subset in subsets.items())


def _scored(name: str, subset: Subset, attacker: Attacker) -> Verification:
    enrolment, trials = (extract(part, attacker) for part in (subset.enrolment, subset.trials))
    pairs = subset.trial_list
    if pairs is None:
        pairs = same_sex_trials(enrolment, trials, subset.genders)
    return verify(enrolment, trials, pairs, subset.genders, subset=name)


def _orders(
    data: AttackData,
    settings: AttackerSettings,
    strategy: str,
    folder: Path,
    encoder: Encoder | None,
    workers: int,
) -> Orders:
    """The orders by similarity of all training speech, which rows and seeds have in common."""
    if strategy == "sr" and encoder is None:
        raise VoicePrivacyError(
            "rows with SR compare words by a Whisper encoder; give encoder=WhisperRecogniser(...)."
        )
    own = settings.augmentation
    compared = SegReConcat(
        strategy, boundaries=own.boundaries, padding=own.padding, encoder=encoder
    )
    key = [strategy, own.boundaries, own.padding, getattr(encoder, "name", "")]
    path = folder / "orders" / f"{data.system}-{strategy}-{_digest(data, key)}.json"
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
        return {utterance: np.array(order, np.int64) for utterance, order in kept.items()}
    # Threads would only wait for each other at the encoder.
    compared.prepare(data.training, data.words, workers=1 if strategy == "sr" else workers)
    with written_whole(path) as temporary:
        kept = {utterance: order.tolist() for utterance, order in sorted(compared.orders.items())}
        temporary.write_text(json.dumps(kept), encoding="utf-8")
    return compared.orders


def _run_name(data: AttackData, settings: AttackerSettings, row: str) -> str:
    """A folder's name: readable, and another one for everything that gives another result."""
    subsets = [
        [name, _contents(part.enrolment), _contents(part.trials)]
        for name, part in data.subsets.items()
    ]
    digest = _digest(data, [settings.as_dict(), subsets])
    name = f"{data.system}-{row}-seed{settings.seed}-{digest}"
    return name.replace(" ", "_").replace("/", "_")


def _digest(data: AttackData, settings: object) -> str:
    words = data.words.table[["start", "end"]].to_numpy().tobytes()
    known = [settings, _contents(data.training), source_digest("voiceprivacy.attacks")]
    return hashlib.sha256(json.dumps(known).encode() + words).hexdigest()[:12]


def _contents(corpus: Corpus) -> list[list[object]]:
    """What a corpus holds: its ids and the sizes of their files."""
    table = corpus.table
    sizes = [os.stat(path).st_size for path in table["path"]]
    return [corpus.name, table["utterance"].tolist(), sizes]


def _write_about(attacker: Attacker, path: Path) -> None:
    about = {
        name: getattr(attacker, name) for name in ("steps", "best_step", "dev_loss", "accuracy")
    }
    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(about) + "\n", encoding="utf-8")

"""A miniature of the VoicePrivacy Attacker Challenge's data: noise with a colour for each voice."""

import numpy as np
import soundfile
from scipy.signal import lfilter

RATE = 16_000
LETTERS = {"f": 0, "m": 1}


def voice(speaker: int, utterance: int, seconds: float) -> np.ndarray:
    """Noise with one resonance, at another frequency for every speaker."""
    rng = np.random.default_rng([speaker, utterance])
    angle = 2 * np.pi * (300 + 137 * (speaker % 40)) / RATE
    noise = rng.normal(0, 0.01, round(seconds * RATE))
    return lfilter([1.0], [1, -1.9 * np.cos(angle), 0.9025], noise)


def write_set(folder, speakers, utterances, *, seconds=1.0, chapter=1):
    """One Kaldi directory without wav.scp; speakers are (id, letter)."""
    (folder / "wav").mkdir(parents=True)
    ids = {s: [f"{s}-{chapter}-{u:04d}" for u in range(utterances)] for s, _ in speakers}
    for s, names in ids.items():
        for u, name in enumerate(names):
            path = folder / "wav" / f"{name}.wav"
            soundfile.write(path, voice(int(s), 100 * chapter + u, seconds), RATE)
    pairs = [(u, s) for s, names in ids.items() for u in names]
    tables = {
        "utt2spk": "".join(f"{u} {s}\n" for u, s in pairs),
        "spk2utt": "".join(f"{s} {' '.join(names)}\n" for s, names in ids.items()),
        "spk2gender": "".join(f"{s} {letter}\n" for s, letter in speakers),
        "text": "".join(f"{u} SOME WORDS\n" for u, _ in pairs),
        "utt2dur": "".join(f"{u} {seconds}\n" for u, _ in pairs),
    }
    for name, text in tables.items():
        (folder / name).write_text(text)
    return ids


def write_vpac(root, system="T8-5", *, suffix=True, train=4, enrolled=2, extra=1, utterances=3):
    """A whole tree: per subset and gender `enrolled` speakers, and `extra` only in trials.

    Returns the folder that holds the sets.
    """
    data = root / system / "data"
    end = f"_{system}" if suffix else ""
    readers = [(str(1000 + k), "fm"[k % 2]) for k in range(train)]
    write_set(data / f"train-clean-360{end}", readers, utterances, seconds=3.5)
    for number, subset in enumerate(("dev", "test"), 2):
        first = {letter: 1000 * number + 500 * side for letter, side in LETTERS.items()}
        people = {
            letter: [(str(first[letter] + k), letter) for k in range(enrolled + extra)]
            for letter in LETTERS
        }
        enrolls = [pair for letter in LETTERS for pair in people[letter][:enrolled]]
        enrolled_ids = write_set(data / f"libri_{subset}_enrolls{end}", enrolls, 2)
        listed = "".join(f"{u}\n" for names in enrolled_ids.values() for u in names)
        (data / f"libri_{subset}_enrolls{end}" / "enrolls").write_text(listed)
        for letter in LETTERS:
            folder = data / f"libri_{subset}_trials_{letter}{end}"
            ids = write_set(folder, people[letter], utterances, chapter=2)
            trials = "".join(
                f"{e} {u} {'target' if e == s else 'nontarget'}\n"
                for e, _ in people[letter][:enrolled]
                for s, names in ids.items()
                for u in names
            )
            (folder / "trials").write_text(trials)
    return data

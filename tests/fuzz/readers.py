"""Fuzz one reader of text: ``python tests/fuzz/readers.py NAME SECONDS [FOLDER]``.

Needs atheris, which ``make fuzz`` installs. A text must be read, or refused as bad input; anything
else ends the run with its traceback, and the text lies in FOLDER (default ``build/fuzz/NAME``),
where the next run begins with all that were found to matter.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["voiceprivacy"]):
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from text_readers import READERS

    from voiceprivacy.errors import VoicePrivacyError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=READERS)
    parser.add_argument("seconds", type=int)
    parser.add_argument("folder", type=Path, nargs="?")
    called = parser.parse_args()
    reader = READERS[called.name]
    kept = (called.folder or Path("build/fuzz", called.name)).resolve()
    kept.mkdir(parents=True, exist_ok=True)
    (kept / "good").write_bytes(reader.good)
    # In memory where there is such a disk: a text is written for every reading.
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as place:
        os.chdir(place)
        warnings.simplefilter("ignore")

        def once(text: bytes) -> None:
            with contextlib.suppress(VoicePrivacyError):
                reader(Path(place), text)

        options = [f"-max_total_time={called.seconds}", "-max_len=2000", "-timeout=20"]
        options += [f"-artifact_prefix={kept}/", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], *options, str(kept)], once)
        atheris.Fuzz()


if __name__ == "__main__":
    main()

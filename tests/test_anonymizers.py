"""Anonymizers: McAdams against the plain algorithm, time as told, output as promised."""

import numpy as np
import pytest

from voiceprivacy.anonymizers import (
    ANONYMIZERS,
    PEAK,
    STAND_INS,
    BaseAnonymizer,
    Codebook,
    Hybrid,
    McAdams,
    NoiseVocoder,
    Resample,
    Whisper,
    by_name,
    settings,
)
from voiceprivacy.errors import VoicePrivacyError

pytest.importorskip("librosa", reason="the speech extra is not installed")
pytest.importorskip("soxr", reason="the speech extra is not installed")

RATE = 16_000


def vowel(pitch=130, seconds=1.0, formants=(600, 1300, 2500)):
    """A steady vowel with a little noise."""
    from scipy.signal import lfilter

    n = round(seconds * RATE)
    source = np.zeros(n)
    source[:: round(RATE / pitch)] = 1.0
    source += 0.01 * np.random.default_rng(3).standard_normal(n)
    for formant in formants:
        pole = 0.97 * np.exp(2j * np.pi * formant / RATE)
        source = lfilter([1], [1, -2 * pole.real, abs(pole) ** 2], source)
    return (0.3 * source / np.abs(source).max()).astype(np.float32)


def plain_mcadams(samples, coefficient, filled=True):
    """Baseline B2 (`anonym_v2`), frame by frame; unlike there, with the last frame filled up."""
    import librosa
    from scipy.signal import lfilter

    length, shift = 320, 160
    eps = np.finfo(np.float32).eps
    window = np.hanning(length)
    window = np.sqrt(window / (window.sum() / shift))
    signal = np.concatenate([samples.astype(float) + eps, np.zeros(length)])
    out = np.zeros(len(signal))
    end = max(1, len(samples) - length + shift) if filled else len(samples) - length + 1
    for start in range(0, end, shift):
        frame = signal[start : start + length] * window
        predictor = librosa.lpc(frame + eps, order=20)
        moved = []
        for pole in np.roots(predictor):
            if np.iscomplex(pole):
                angle = np.angle(pole)
                pole = np.abs(pole) * np.exp(1j * np.sign(angle) * np.abs(angle) ** coefficient)
            moved.append(pole)
        residual = lfilter(predictor, [1], frame)
        out[start : start + length] += lfilter([1], np.poly(moved).real, residual) * window
    out = out[: len(samples)]
    return out * (32766 / 32768 / np.abs(out).max())


@pytest.fixture(params=STAND_INS)
def stand_in(request):
    return by_name(request.param)


# -- McAdams -----------------------------------------------------------------------------------


@pytest.mark.parametrize("coefficient", [0.5, 0.72, 0.9, 1.1])
@pytest.mark.parametrize("n_samples", [319, 320, 321, 480, 9_000])
def test_mcadams_is_the_plain_algorithm(coefficient, n_samples):
    samples = np.concatenate([np.zeros(100, np.float32), vowel()])[:n_samples]
    out = McAdams(coefficient, coefficient)(samples)
    np.testing.assert_allclose(out, plain_mcadams(samples, coefficient), atol=1e-6)


def test_mcadams_of_real_speech_is_the_plain_algorithm(shared_data):
    import soundfile

    path = sorted(shared_data("librispeech_train_clean_100").rglob("*.flac"))[0]
    samples = soundfile.read(path, dtype="float32")[0][:48_000]
    out = McAdams(0.6, 0.6)(samples)
    np.testing.assert_allclose(out, plain_mcadams(samples, 0.6), atol=1e-6)


def test_a_coefficient_of_one_moves_nothing():
    samples = vowel()
    out = McAdams(1.0, 1.0)(samples)
    scale = out[1000:-1000] @ samples[1000:-1000] / (samples[1000:-1000] ** 2).sum()
    np.testing.assert_allclose(out[160:-320] / scale, samples[160:-320], atol=2e-3)
    assert np.abs(out).max() == pytest.approx(PEAK)


@pytest.mark.parametrize("coefficient", [0.7, 0.85])
def test_a_formant_s_angle_is_raised_to_the_power(coefficient):
    import librosa

    out = McAdams(coefficient, coefficient)(vowel(formants=(1500,)))
    poles = np.roots(librosa.lpc(out[4_000:12_000].astype(float), order=20))
    expected = (2 * np.pi * 1500 / RATE) ** coefficient
    sharpest = poles[np.argmax(np.abs(poles))]
    assert np.abs(np.angle(sharpest)) == pytest.approx(expected, abs=0.01)


def test_coefficients_of_utterances_and_of_speakers():
    each, whose = McAdams(seed=1), McAdams(seed=1, level="speaker")
    people = [(f"s{s}", f"s{s}-{u}") for s in range(4) for u in range(50)]
    drawn = np.array([each.drawn(*who) for who in people])
    assert len(set(drawn)) == 200
    assert drawn.min() < 0.52
    assert drawn.max() > 0.88
    assert 0.67 < drawn.mean() < 0.73
    assert len({whose.drawn(*who) for who in people}) == 4
    assert (each.name, whose.name) == ("mcadams", "mcadams-speaker")


def test_speakers_keep_their_coefficient_in_sound():
    samples, whose = vowel(seconds=0.2), McAdams(level="speaker")
    one, two = (whose(samples, speaker="ann", utterance=u) for u in "ab")
    other = whose(samples, speaker="bob", utterance="a")
    np.testing.assert_array_equal(one, two)
    assert not np.allclose(one, other, atol=0.01)


# -- every stand-in ----------------------------------------------------------------------------


def test_there_are_seven_stand_ins_and_identity():
    assert len(STAND_INS) == 7
    assert {*STAND_INS, "identity", "baseline_b2", "baseline_b2-speaker"} == set(ANONYMIZERS)
    for name in ANONYMIZERS:
        assert by_name(name).name == name


@pytest.mark.parametrize("n_samples", [1, 2, 100, 319, 321, 511, 513, 16_001])
def test_the_length_is_the_factor_times_as_long(stand_in, n_samples):
    samples = vowel(seconds=2)[-n_samples:]
    for utterance in "abc":
        out = stand_in(samples, utterance=utterance)
        assert len(out) == round(n_samples * stand_in.time_factor(utterance=utterance))
        assert out.dtype == np.float32


def test_output_is_at_the_same_peak_for_loud_clipped_and_faint_speech(stand_in):
    for samples in (vowel(), np.clip(9 * vowel(), -1, 1), 1e-4 * vowel()):
        out = stand_in(samples, utterance="a")
        assert np.abs(out).max() == pytest.approx(PEAK, abs=1e-6)


@pytest.mark.parametrize("faintest", [0.0, 1e-5, -1e-5])
@pytest.mark.parametrize("name", ANONYMIZERS)
def test_silence_stays_silence(name, faintest):
    anonymizer = by_name(name)
    out = anonymizer(np.full(5_000, faintest, np.float32), utterance="u")
    assert not out.any()
    assert len(out) == round(5_000 * anonymizer.time_factor(utterance="u"))


def test_pauses_stay_pauses(stand_in):
    samples = np.concatenate([vowel(), np.zeros(RATE, np.float32), vowel()])
    out = stand_in(samples, utterance="a")
    factor = stand_in.time_factor(utterance="a")
    pause = out[round(1.3 * RATE * factor) : round(1.7 * RATE * factor)]
    voice = out[round(0.2 * RATE * factor) : round(0.8 * RATE * factor)]
    assert (pause**2).mean() < 1e-3 * (voice**2).mean()


def test_words_lie_where_the_time_factor_says(stand_in):
    """A word from 1.0 to 1.4 s of 3 s: its middle and its length in the output."""
    word = vowel(seconds=0.4)
    samples = np.zeros(3 * RATE, np.float32)
    samples[RATE : RATE + len(word)] = word
    for utterance in "abcd":
        factor = stand_in.time_factor(utterance=utterance)
        power = stand_in(samples, utterance=utterance).astype(float) ** 2
        shares = np.interp([0.1, 0.5, 0.9], np.cumsum(power) / power.sum(), np.arange(len(power)))
        assert shares[1] / RATE == pytest.approx(1.2 * factor, abs=0.03)
        assert (shares[2] - shares[0]) / RATE == pytest.approx(0.32 * factor, abs=0.1)


def test_the_same_seed_and_ids_give_the_same_samples(stand_in):
    samples, ids = vowel(seconds=0.3), {"speaker": "ann", "utterance": "7"}
    once, again = stand_in(samples, **ids), by_name(stand_in.name)(samples, **ids)
    np.testing.assert_array_equal(once, again)
    other = by_name(stand_in.name, seed=9)(samples, **ids)
    assert len(other) != len(once) or not np.allclose(other, once, atol=0.01)


def test_the_speech_given_is_not_changed(stand_in):
    samples = vowel()
    before = samples.copy()
    stand_in(samples, utterance="a")
    np.testing.assert_array_equal(samples, before)


# -- what each does ----------------------------------------------------------------------------


def spectrum(samples):
    return np.abs(np.fft.rfft(samples * np.hanning(len(samples)))) ** 2


def strongest(samples):
    return np.argmax(spectrum(samples)) * RATE / len(samples)


@pytest.mark.parametrize("speed", [0.8, 1.0, 1.3])
def test_resampling_multiplies_frequencies_and_divides_times(speed):
    samples = np.sin(2 * np.pi * 500 * np.arange(RATE) / RATE).astype(np.float32)
    click = np.zeros(RATE, np.float32)
    click[4_000] = 1.0
    resample = Resample(speed, speed)
    assert strongest(resample(samples)) == pytest.approx(500 * speed, abs=2)
    assert np.argmax(resample(click)) == pytest.approx(4_000 / speed, abs=2)
    assert resample.time_factor() == pytest.approx(1 / speed)


def periodicity(samples, low=90, high=250):
    """Highest autocorrelation of the lags of a voice, 1 for a periodic sound."""
    power = np.fft.rfft(samples, 2 * len(samples))
    correlation = np.fft.irfft(np.abs(power) ** 2)
    return correlation[RATE // high : RATE // low].max() / correlation[0]


def test_a_whisper_has_no_pitch_but_keeps_formants():
    samples = vowel(formants=(1500,))
    whisper = Whisper(1.0, 1.0)
    out = whisper(samples, utterance="u")
    coefficient = whisper.between(0.6, 0.9, "coefficient", "", "u")
    assert periodicity(samples) > 0.8
    assert periodicity(out) < 0.3
    smooth = np.convolve(spectrum(out), np.ones(200), "same")
    expected = (2 * np.pi * 1500 / RATE) ** coefficient / (2 * np.pi) * RATE
    assert np.argmax(smooth) * RATE / len(out) == pytest.approx(expected, rel=0.1)


def test_the_codebook_s_voice_has_the_pitch_drawn_and_not_the_speaker_s():
    for pitch in (100, 180):
        out = Codebook()(vowel(pitch, formants=(400, 1000, 2600)), utterance="u")
        drawn = Codebook().between(90, 220, "pitch", "", "u")
        correlation = np.fft.irfft(np.abs(np.fft.rfft(out, 2 * len(out))) ** 2)
        lag = 70 + np.argmax(correlation[70:190])
        assert lag == pytest.approx(RATE / drawn, abs=2)


def test_the_noise_vocoder_hears_no_pitch_and_no_formants_inside_a_band():
    one, two = (
        NoiseVocoder()(vowel(pitch, formants=formants), utterance="u")
        for pitch, formants in ((110, (300, 1500)), (200, (650, 1500)))
    )
    assert periodicity(one) < 0.3
    assert np.corrcoef(one, two)[0, 1] > 0.95


def test_a_hybrid_is_one_of_two():
    hybrid, samples = Hybrid(heads="mcadams", tails="resample", seed=4), vowel(seconds=0.2)
    names = [hybrid.tossed(f"u{k}").name for k in range(400)]
    assert 160 < names.count("mcadams") < 240
    for k in range(6):
        ids = {"speaker": "ann", "utterance": f"u{k}"}
        part = by_name(names[k], seed=4)
        np.testing.assert_array_equal(hybrid(samples, **ids), part(samples, **ids))
        assert hybrid.time_factor(**ids) == part.time_factor(**ids)


# -- your own ----------------------------------------------------------------------------------


def test_an_anonymizer_gets_the_ids_that_it_asks_for():
    class Named(BaseAnonymizer):
        name = "named"

        def anonymize(self, samples, *, speaker):
            return np.full(len(samples), float(len(speaker)))

    named = Named()
    assert named.name == "named"
    assert (named(vowel(), speaker="anna", utterance="x") == 4).all()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda x: np.repeat(x, 3), "48000 samples"),
        (lambda x: x[:100], "100 samples"),
        (lambda x: x[:0], "0 samples"),
        (lambda x: x * np.nan, "16000 values that are not finite"),
        (lambda x: np.stack([x, x]), r"shape \(2, 16000\) of float32"),
        (lambda x: (x * 32767).astype(np.int16), r"shape \(16000,\) of int16"),
        (lambda x: None, r"shape \(\) of object"),
    ],
)
def test_broken_output_is_told_by_class_and_utterance(make, told):
    class Mine(BaseAnonymizer):
        def anonymize(self, audio_data):
            return make(audio_data)

    with pytest.raises(
        VoicePrivacyError,
        match=rf"Mine.anonymize returned {told} for utterance '7-1' \(16000 samples\); expected "
        "16000 finite floats at 16000 Hz",
    ):
        Mine()(vowel(), utterance="7-1")


def test_a_vocoder_s_own_rounding_is_let_through():
    class Hops(BaseAnonymizer):
        def anonymize(self, audio_data):
            return audio_data[: len(audio_data) // 256 * 256]

    assert len(Hops()(vowel())) == 15_872


def test_nothing_to_override_is_nothing_to_call():
    with pytest.raises(NotImplementedError, match="Empty does not define anonymize"):
        type("Empty", (BaseAnonymizer,), {})()(vowel())


# -- by name -----------------------------------------------------------------------------------


def test_parameters_are_the_defaults_or_given():
    assert by_name("whisper", lowest=0.9, seed=2) == Whisper(0.9, seed=2)
    assert by_name("mcadams", level="speaker") == by_name("mcadams-speaker")
    assert settings("hybrid") == {"heads": "whisper", "tails": "codebook", "seed": 0}


@pytest.mark.parametrize(
    ("name", "parameters", "told"),
    [
        ("mcadam", {}, "no anonymizer 'mcadam'; there are: identity, resample, mcadams-speaker"),
        ("mcadams", {"alpha": 1}, "'mcadams' has no parameter 'alpha'; it has: lowest, highest"),
        ("mcadams", {"lowest": "x"}, "takes no lowest='x'; expected float, such as 0.5"),
        ("mcadams", {"level": "word"}, "level 'word' is unknown; expected one of"),
        ("mcadams", {"lowest": 0.95}, "mcadams cannot draw between 0.95 and 0.9"),
        ("resample", {"lowest": 0.0}, "resample cannot draw between 0.0 and 1.25; expected 0 <"),
        ("resample", {"highest": np.inf}, "resample cannot draw between 0.8 and inf"),
        ("hybrid", {"heads": "tts"}, "there is no anonymizer 'tts'"),
    ],
)
def test_what_does_not_exist_is_refused(name, parameters, told):
    with pytest.raises(VoicePrivacyError, match=told):
        by_name(name, **parameters)

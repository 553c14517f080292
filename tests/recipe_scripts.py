"""Scripts that behave like the recipes of the VoicePrivacy Challenges: same calls, same places."""

# Halves every utterance of a Kaldi directory; `faults` says what goes wrong on purpose.
HALVE = """
import array, os, shutil, sys, wave


def halve(kaldi, wav, faults=()):
    os.makedirs(wav, exist_ok=True)
    for line in open(os.path.join(kaldi, "wav.scp")):
        utterance, path = line.split()
        to = os.path.join(wav, utterance + ".wav")
        fault = dict(faults).get(utterance, "")
        if fault == "unchanged":
            shutil.copy(path, to)
        elif fault == "unreadable":
            open(to, "wb").write(b"no sound")
        elif fault != "not returned":
            one(path, to, fault)
        print("done", utterance, flush=True)


def one(path, to, fault):
    with wave.open(path) as sound:
        rate = sound.getframerate()
        samples = array.array("h", sound.readframes(sound.getnframes()))
    with wave.open(to, "w") as sound:
        sound.setparams((1, 2, 8000 if fault == "wrong rate" else rate, 0, "NONE", ""))
        samples = [0 if fault == "made silent" else int(x / 2) for x in samples]
        sound.writeframes(array.array("h", [] if fault == "empty" else samples).tobytes())
    if fault == "cut short":
        os.truncate(to, 2000)
"""

PLAIN = (
    HALVE
    + """
kaldi, wav, *faults = sys.argv[1:]
halve(kaldi, wav, [fault.split("=") for fault in faults])
"""
)

# As run_anonymization.py of 2024: everything by the configuration, relative to the checkout.
RUN_2024 = (
    HALVE
    + """
import yaml
assert sys.argv[1] == "--config" and sys.argv[3] == "--gpu_ids", sys.argv
class Loader(yaml.SafeLoader):
    pass
Loader.add_constructor("!ref", lambda loader, node: "REF " + node.value)
config = yaml.load(open(sys.argv[2]), Loader)
(dataset,) = config["datasets"]
kaldi = os.path.join(config["data_dir"], dataset["data"])
modules = config["modules"]
if config["pipeline"] == "sttts":
    assert os.path.isfile(kaldi + "/spk2gender")
    halve(kaldi, config["intermediate_dir"] + "/anon_speech/ims_sttts_pc/" + dataset["data"])
elif config["pipeline"] == "nac" and os.environ.get("NO_GPU"):
    halve(kaldi, os.path.join(config["results_dir"], dataset["data"]))
elif config["pipeline"] == "nac":
    halve(kaldi, kaldi + "_nac/wav")
else:
    assert any(name in dataset["data"] for name in modules["anon_level_random_per_utt"])
    halve(kaldi, kaldi + "_asrbn_" + modules["model_tag_version"] + "/" + config["results_dir"])
"""
)

COMMON_2024 = """\
data_dir: data
results_dir: wav # output example ./data/IEMOCAP_x/wav

pipeline: {pipeline}
anon_suffix: !ref _<pipeline>

datasets:
  - name: IEMOCAP_dev
    data: IEMOCAP_dev
  - name: libri_dev
    data: libri_dev
    enrolls: [_enrolls]
    trials: [_trials_f, _trials_m]

"""
CONFIGS_2024 = {
    "sttts": "save_intermediate: true\nintermediate_dir: !ref exp/anon_pipeline_<pipeline>\n"
    "modules:\n  tts: {results_path: !ref <intermediate_dir>/anon_speech/ims_sttts_pc}\n",
    "nac": "modules:\n  model:\n    checkpoint_dir: exp/nac_models\n",
    "asrbn": "modules:\n  anon_level_random_per_utt: [libri_dev, libri_test]\n"
    '  model_tag_version: "hifigan_bn_tdnnf_wav2vec2_vq_48_v1"\n  device: "cuda"\n',
}

# As local/anon/anonymize_data_dir.sh of 2022, but for the options of Kaldi's parse_options.sh.
RUN_2022 = """\
set -e
[ -f path.sh ] && [ -f config.sh ]
while [ $# -gt 1 ]; do
  case $1 in
    --data-netcdf) netcdf=$2 ;;
    --model-type) [ $2 = joint_nsf_hifigan ] ;;
    --pseudo-xvec-rand-level) [ $2 = utt ] ;;
  esac
  shift 2
done
[ -f data/$1/spk2gender ]
python halve.py data/$1 $netcdf/$1/nsf_hifigan_output_wav
"""


def write_2024(place):
    """A checkout of the recipe of 2024."""
    (place / "configs").mkdir(parents=True)
    (place / "run_anonymization.py").write_text(RUN_2024)
    for pipeline, text in CONFIGS_2024.items():
        whole = COMMON_2024.format(pipeline=pipeline) + text
        (place / "configs" / f"anon_{pipeline}.yaml").write_text(whole)
    return place


def write_2022(place, needs):
    """A checkout of the recipe of 2022, with empty files in the place of models."""
    for name in needs:
        path = place / "baseline" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch() if "." in path.name else path.mkdir(exist_ok=True)
    (place / "baseline/local/anon/anonymize_data_dir.sh").write_text(RUN_2022)
    (place / "baseline/halve.py").write_text(PLAIN)
    return place

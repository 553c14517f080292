"""The VoicePrivacy Challenges' own recipes as anonymization systems, by the path of a checkout.

None of them was run for this package: each needs models, some need Kaldi, all want a GPU. What is
called follows the recipes' published scripts; tests call scripts that behave like them.
"""

import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import yaml

from voiceprivacy._yaml import YAML_ERRORS
from voiceprivacy.errors import VoicePrivacyError, listed
from voiceprivacy.external_systems import ExternalSystem, Places
from voiceprivacy.files import written_whole

SITE = "https://github.com/Voice-Privacy-Challenge/Voice-Privacy-Challenge"
# Levels and voices are chosen by names of the challenge's own sets.
DATASET = "libri_dev"
CONFIGS = {"sttts": "B3", "nac": "B4", "asrbn": "B5 and B6"}
VECTORS = "exp/models/2_xvect_extr/exp/xvector_nnet_1a"
POOL = "libritts_train_other_500"
NEEDS_B1 = (
    "path.sh", "config.sh", "utils/parse_options.sh", "local/anon/anonymize_data_dir.sh",
    "exp/models/1_asr_am/exp", VECTORS, f"{VECTORS}/anon/xvectors_{POOL}", f"data/{POOL}",
    "exp/models/5_joint_tts_nsf_hifigan",
)  # fmt: skip


def external(
    command: str = "", outputs: str = "", folder: str = "", suffix: str = "_anon",
    tables: str = "", seed: int = 0,
) -> ExternalSystem:  # fmt: skip
    """A program of your own over a whole Kaldi directory: command='PROGRAM {input} {output}'.

    Parameters are those of `voiceprivacy.external_systems.ExternalSystem`; `command` and `outputs`
    are words as one would type them.
    """
    if "{input}" not in command:
        raise VoicePrivacyError(
            f"external: the command {command!r} has no {{input}}; set command, as in "
            "'python anonymize.py {input} {output}'."
        )
    own = {"outputs": tuple(shlex.split(outputs))} if outputs else {}
    return ExternalSystem(
        tuple(shlex.split(command)), folder=folder, suffix=suffix, tables=tables, seed=seed, **own
    )


def baseline_b1(recipe: str = "", tables: str = "", jobs: int = 4, seed: int = 0) -> ExternalSystem:
    """B1.b of 2022: x-vectors of a pool, joint_nsf_hifigan, one an utterance (not run here).

    Parameters
    ----------
    recipe
        The installed checkout of the 2022 recipe, with its models and pool.
    tables
        A Kaldi directory with the ``spk2gender`` of the speakers: a pseudo-speaker is of the same
        gender.
    jobs
        Processes.
    seed
        Of the draw of pseudo-speakers.
    """
    place = _checkout("baseline_b1", recipe, "2022", [f"baseline/{own}" for own in NEEDS_B1])
    _require_genders("baseline_b1", tables)
    options = {
        "nj": jobs, "anoni-pool": POOL, "data-netcdf": "{work}/netcdf",
        "ppg-model": "exp/models/1_asr_am/exp",
        "ppg-dir": "exp/models/1_asr_am/exp/nnet3_cleaned", "xvect-type": "kaldi",
        "xvec-nnet-dir": VECTORS, "anon-xvec-out-dir": f"{VECTORS}/anon", "plda-dir": VECTORS,
        "pseudo-xvec-rand-level": "utt", "distance": "plda", "proximity": "farthest",
        "cross-gender": "false", "rand-seed": "{seed}", "anon-data-suffix": "{suffix}",
        "model-type": "joint_nsf_hifigan",
    }  # fmt: skip
    words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
    return ExternalSystem(
        ("bash", "local/anon/anonymize_data_dir.sh", *words, "{dataset}"),
        name="baseline_b1",
        outputs=("{work}/netcdf/{dataset}/nsf_hifigan*output_wav",),
        folder=str(place / "baseline"),
        dataset="voiceprivacy",
        tables=tables,
        prepare=partial(_link, place / "baseline" / "data"),
        seed=seed,
    )


def baseline_b3(
    recipe: str = "", python: str = "python", gpu_ids: str = "0", tables: str = ""
) -> ExternalSystem:
    """B3 of 2024: phones and prosody re-spoken in a generated voice (not run here)."""
    work = {"intermediate_dir": "{work}/steps"}
    out = ("{work}/steps/anon_speech/*/{dataset}",)
    system = _vpc2024("baseline_b3", "sttts", recipe, python, gpu_ids, tables, work, out)
    _require_genders("baseline_b3", tables)
    return system


def baseline_b4(
    recipe: str = "", python: str = "python", gpu_ids: str = "0", tables: str = ""
) -> ExternalSystem:
    """B4 of 2024: a neural audio codec's language model (not run here)."""
    # With a GPU the recipe writes beside the data, without one into results_dir.
    work = {"results_dir": "{output}"}
    out = ("{input}{suffix}", "{output}/{dataset}")
    return _vpc2024("baseline_b4", "nac", recipe, python, gpu_ids, tables, work, out)


def _asrbn(
    name: str, tag: str, recipe: str = "", python: str = "python", gpu_ids: str = "0",
    tables: str = "",
) -> ExternalSystem:  # fmt: skip
    """ASR bottleneck features with vector quantisation, and HiFi-GAN."""
    work = {"modules.model_tag_version": tag}
    out = ("{input}{suffix}",)
    return _vpc2024(name, "asrbn", recipe, python, gpu_ids, tables, work, out, f"_asrbn_{tag}")


def baseline_b5(
    recipe: str = "", python: str = "python", gpu_ids: str = "0", tables: str = ""
) -> ExternalSystem:
    """B5 of 2024: quantised bottleneck features on wav2vec 2.0 (not run here)."""
    tag = "hifigan_bn_tdnnf_wav2vec2_vq_48_v1"
    return _asrbn("baseline_b5", tag, recipe, python, gpu_ids, tables)


def baseline_b6(
    recipe: str = "", python: str = "python", gpu_ids: str = "0", tables: str = ""
) -> ExternalSystem:
    """B6 of 2024: quantised bottleneck features on filter banks (not run here)."""
    tag = "hifigan_bn_tdnnf_600h_vq_48_v1"
    return _asrbn("baseline_b6", tag, recipe, python, gpu_ids, tables)


RECIPES = {
    "baseline_b1": baseline_b1, "baseline_b3": baseline_b3, "baseline_b4": baseline_b4,
    "baseline_b5": baseline_b5, "baseline_b6": baseline_b6, "external": external,
}  # fmt: skip
"""What makes the system of each name."""


def _vpc2024(
    name: str, pipeline: str, recipe: str, python: str, gpu_ids: str, tables: str,
    changes: Mapping[str, str], outputs: tuple[str, ...], suffix: str = "",
) -> ExternalSystem:  # fmt: skip
    """A pipeline of the recipe of 2024, called with a changed copy of its own configuration."""
    config = f"configs/anon_{pipeline}.yaml"
    place = _checkout(name, recipe, "2024", ["run_anonymization.py", config])
    python = str(Path(python).absolute()) if "/" in python else python
    return ExternalSystem(
        (python, "run_anonymization.py", "--config", "{work}/config.yaml", "--gpu_ids", gpu_ids),
        name=name,
        outputs=outputs,
        folder=str(place),
        suffix=suffix or f"_{pipeline}",
        dataset=DATASET,
        tables=tables,
        prepare=partial(_configure, place / config, changes),
    )


def _checkout(name: str, recipe: str, year: str, needs: list[str]) -> Path:
    """The folder of a recipe, refused if anything is missing that will be called for."""
    place = Path(recipe).expanduser().absolute()
    missing = [own for own in needs if not (place / own).exists()]
    if recipe and not missing:
        return place
    told = f"{place} lacks {listed(missing, 12)}" if recipe else "no recipe is given"
    raise VoicePrivacyError(
        f"{name} is run by the recipe of the VoicePrivacy Challenge {year}, but {told}. Clone "
        f"{SITE}-{year}, install it and its models as its README says, and set recipe to its path."
    )


def _require_genders(name: str, tables: str) -> None:
    if not tables or not (Path(tables) / "spk2gender").is_file():
        raise VoicePrivacyError(
            f"{name} needs to know who is female and male; set tables to a Kaldi directory with "
            f"the file spk2gender (there is none in {tables or 'no folder'})."
        )


def _link(data: Path, places: Places) -> None:
    """Show the recipe of 2022 the input among its own data, the only place where it looks."""
    link = data / places.dataset
    if link.exists() and not link.is_symlink():
        raise VoicePrivacyError(f"{link} is there already and no link of ours; move it away.")
    link.unlink(missing_ok=True)
    link.symlink_to(places.input, target_is_directory=True)


def _configure(config: Path, changes: Mapping[str, str], places: Places) -> None:
    """Write a recipe's configuration for our data; what we do not know of stays as it is."""
    values = {
        "data_dir": str(places.input.parent),
        "datasets": [{"name": places.dataset, "data": places.dataset}],
    } | {key: _put(value, places) for key, value in changes.items()}
    with written_whole(places.work / "config.yaml") as temporary:
        temporary.write_text(changed(config, values), encoding="utf-8")


def _put(value: str, places: Places) -> str:
    return value.format(**places.known())


def changed(config: Path, values: Mapping[str, object]) -> str:
    """Return the text of a YAML file with other values; its tags and references stay.

    Raises
    ------
    VoicePrivacyError
        If it is no YAML, or has no such key.
    """
    text = config.read_text(encoding="utf-8")
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except YAML_ERRORS as error:
        raise VoicePrivacyError(f"{config} is no YAML: {' '.join(str(error).split())}.") from None
    spots = []
    for key, value in values.items():
        node = root
        for part in key.split("."):
            entries = node.value if isinstance(node, yaml.MappingNode) else []
            node = next((own for name, own in entries if name.value == part), None)
        if node is None:
            raise VoicePrivacyError(
                f"{config} has no setting {key}; expected the recipe's version of January 2025."
            )
        flow = yaml.safe_dump(value, default_flow_style=True, width=10**6).strip()
        end = "\n" if isinstance(node, yaml.CollectionNode) and not node.flow_style else ""
        spots.append((node.start_mark.index, node.end_mark.index, flow.removesuffix("\n...") + end))
    for start, stop, new in sorted(spots, reverse=True):
        text = text[:start] + new + text[stop:]
    return text

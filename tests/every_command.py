"""A right call of every command, and the little that they read."""

import shutil
from dataclasses import replace
from importlib.util import find_spec

import click
import nbformat
import pytest
from attacker_speech import TINY, speech, words
from census_files import write_district
from test_singling_out import corpus, geography

from voiceprivacy import cli
from voiceprivacy.attackers import write_settings
from voiceprivacy.embeddings import write_embeddings
from voiceprivacy.segmentation import write_timestamps

NO_ONE = "http://127.0.0.1:9"  # the port that discards, where nobody listens
FETCH = f"E06000017 --attempts 1 --nomis-url {NO_ONE} --lookup-url {NO_ONE}"
NEEDS = {"attack": "speechbrain", "evaluate": "resemblyzer"}
# Of every command a call that is right. IN is the folder of inputs, OUT what is written.
CALLS = {
    "anonymize": "IN/speech OUT --method mcadams",
    "assign": "IN/people.csv --census IN/census --out OUT",
    "attack": "IN/speech --enrol IN/enrollment --trials IN/test --genders IN/people.csv "
    "--settings IN/tiny.yaml --out OUT",
    "augment": "IN/speech OUT --strategy rr --timestamps IN/words.csv",
    "census fetch": f"{FETCH} --out OUT",
    "census show": "IN/census",
    "corpus check": "IN/speech --report OUT",
    "download census": f"{FETCH} --out OUT",
    "download librispeech": f"dev-clean --attempts 1 --mirror {NO_ONE} --out OUT",
    "embeddings convert": "IN/pool.npz OUT.parquet",
    "embeddings show": "IN/pool.npz",
    "evaluate": "IN/evaluation.yaml --out OUT",
    "isolate": "IN/pool.npz IN/enrolment.npz --draws 1 --splits 2 --out OUT "
    "--side-information IN/towns.csv --columns level0",
    "report": "IN/pool.npz IN/enrolment.npz --draws 1 --splits 2 --out OUT "
    "--side-information IN/towns.csv --columns level0",
    "run": "IN/small.ipynb --out OUT.ipynb",
    "segment": "IN/brief OUT --recogniser pocketsphinx",
    "simulate": "OUT --speakers-female 20 --speakers-male 20",
}
WRITING = [name for name, call in CALLS.items() if "OUT" in call]
READING = [name for name, call in CALLS.items() if "IN/" in call]


def write_inputs(root):
    """A little of everything that commands read, into a folder."""
    said = speech(root / "speech", 4, 9, 0.6)
    for path in sorted((root / "speech").rglob("*.wav")):
        side = ("test", "enrollment", "calibration")[int(path.stem[-1]) % 3]
        (root / side / path.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, root / side / path.parent.name)
    (root / "brief" / "1000").mkdir(parents=True)
    shutil.copy2(root / "speech" / "1000" / "1000-1-0000.wav", root / "brief" / "1000")
    write_timestamps(words(said), root / "words.csv")
    speakers = sorted(said.table["speaker"].unique())
    rows = [f"{speaker},{'fm'[k % 2]},twenties" for k, speaker in enumerate(speakers)]
    (root / "people.csv").write_text("\n".join(["speaker,gender,age", *rows]) + "\n")
    write_settings(replace(TINY, max_steps=2, evaluate_every=2), root / "tiny.yaml")
    write_district(root / "census")
    geography(40).rename_axis("speaker").to_csv(root / "towns.csv")
    write_embeddings(corpus(40, 10), root / "pool.npz")
    write_embeddings(corpus(40, 2, kind="b"), root / "enrolment.npz")
    (root / "evaluation.yaml").write_text(
        "evaluation: {conversation_lengths: [1], speaker_counts: [3], num_runs: 1, num_folds: 2}\n"
        "anonymization: {system: mcadams}\nattack_models: [ignorant]\n"
        "data: {test: test, enrollment: enrollment, calibration: calibration}\n"
    )
    cell = nbformat.v4.new_code_cell("print(1)")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), root / "small.ipynb")


def leaves(group=cli.main, above=()):
    """The full name of every command."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        is_group = isinstance(found, click.Group)
        yield from leaves(found, (*above, name)) if is_group else [" ".join((*above, name))]


def command(name):
    found = cli.main
    for part in name.split():
        found = found.get_command(click.Context(found), part)
    return found


def options(name):
    return {parameter.name for parameter in command(name).params}


def line(name, inputs, out):
    """The arguments of a command's right call."""
    skip_if_absent(name)
    call = CALLS[name].split()
    places = [part.replace("IN/", f"{inputs}/").replace("OUT", str(out)) for part in call]
    return [*name.split(), *places]


def skip_if_absent(name):
    if find_spec(NEEDS.get(name, "click")) is None:
        pytest.skip("an extra is not installed")

"""Attackers' settings and the rows of the ablation, as files."""

from dataclasses import fields, replace

import pytest
import yaml

from voiceprivacy._schedules import learning_rate
from voiceprivacy.attacker_rows import CONTROL_ROWS, row, rows
from voiceprivacy.attacker_settings import (
    AttackerSettings,
    Augmentation,
    read_settings,
    settings_from,
    write_settings,
)
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.paths import shipped
from voiceprivacy.published import published


def written(tmp_path, text):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return path


# -- shipped files -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["paper", "small"])
def test_shipped_settings_name_what_they_set(name):
    keys = yaml.safe_load(shipped("config", f"attackers/{name}.yaml").read_text())
    known = {one.name for one in fields(AttackerSettings)}
    assert set(keys) <= known
    assert known - set(keys) <= {"base_learning_rate", "cycle_steps"}
    assert name == "small" or set(keys) == known


def test_the_paper_s_configuration_is_the_default():
    paper = read_settings("paper")
    assert paper == AttackerSettings()
    assert paper.channels == [1024, 1024, 1024, 1024, 3072]
    assert (paper.margin, paper.scale, paper.learning_rate) == (0.2, 30, 0.01)
    assert (paper.cycle_steps, paper.weight_decay, paper.crop_seconds) == (65_000, 2e-6, 3)
    assert paper.patience is not None


def test_rows_of_the_small_configuration_end_at_the_same_step():
    small = read_settings("small")
    assert small.max_steps is not None
    assert small.max_epochs is None
    assert small.patience is None


# -- files of one's own ------------------------------------------------------------------------


def test_written_settings_are_read_back(tmp_path):
    settings = replace(
        read_settings("small"), seed=7, augmentation=Augmentation("rr", True, crossfade=0.01)
    )
    write_settings(settings, tmp_path / "deep" / "mine.yaml")
    assert read_settings(tmp_path / "deep" / "mine.yaml") == settings


def test_what_a_file_does_not_name_is_the_paper_s(tmp_path):
    path = written(tmp_path, "seed: 3\naugmentation: {strategy: ar}\n")
    assert read_settings(path) == AttackerSettings(seed=3, augmentation=Augmentation("ar"))


def test_numbers_that_yaml_takes_for_text_are_numbers(tmp_path):
    assert read_settings(written(tmp_path, "base_learning_rate: 1e-8")).base_learning_rate == 1e-8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chanels: [1, 2, 3]", r"no setting chanels \(did you mean channels\?\)"),
        ("augmentation: {strategi: rr}", r"augmentation\.strategi \(did you mean strategy\?\)"),
        ("augmentation: {strategy: xx}", r"strategy: 'xx'; expected one of rr, ar, sr"),
        ("augmentation: rr", r"augmentation: 'rr'; expected keys"),
        ("batch_size: many", r"batch_size: 'many'; expected int"),
        ("batch_size: 32.5", r"batch_size: 32\.5; expected int"),
        ("batch_size: 1", r"batch_size: 1; expected 2 or more"),
        ("specaugment: 1", r"specaugment: 1; expected bool"),
        ("channels: [24, x, 24]", r"channels: .*expected list\[int\]"),
        ("channels: [24, 24]", r"channels: .*three or more"),
        ("kernel_sizes: [5, 3, 3, 3, 2]", r"kernel_sizes: .*odd"),
        ("dilations: [1, 2, 3]", r"channels: .*dilations: .*as many of each"),
        ("res2net_scale: 7", r"res2net_scale: 7; expected .*multiples"),
        ("dev_share: 0", r"dev_share: 0; expected a share"),
        ("learning_rate: .nan", r"learning_rate: nan; expected a positive number"),
        ("learning_rate: 1.0e-9", r"base_learning_rate: 1e-08, learning_rate: 1e-09"),
        ("schedule: one_cycle", r"schedule: one_cycle, max_steps: None; expected a number"),
        ("patience: null\nmax_epochs: null", r"max_steps: None, .*to end training"),
        ("time_mask: [5, 5]", r"time_mask: \[5, 5\]; expected \[shortest, one more"),
        ("masks: [0, 2]", r"masks: \[0, 2\]; expected \[fewest, most\], from 1"),
        ("seed: -1", r"seed: -1; expected 0 or more"),
        ("- a list", r"expected lines of the form key: value"),
        ("a: b: c", r"is no YAML"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_key(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(VoicePrivacyError, match=message) as raised:
        read_settings(path)
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_named():
    with pytest.raises(VoicePrivacyError, match=r"smal: no such file \(did you mean small"):
        read_settings("smal")


def test_settings_from_a_mapping_leave_it_alone():
    values = {"seed": 1, "augmentation": {"strategy": "rr"}}
    assert settings_from(values).augmentation.strategy == "rr"
    assert values == {"seed": 1, "augmentation": {"strategy": "rr"}}


# -- rows --------------------------------------------------------------------------------------


def test_rows_are_those_of_table_1_in_its_order():
    table = published()
    items = table["item"][(table["paper"] == "SRC") & table["item"].str.startswith("table1_")]
    assert [name.replace(" ", "_") for name in rows()] == [item[7:] for item in items]


def test_every_file_is_a_row_and_every_row_a_file():
    files = {path.stem for path in shipped("config", "segreconcat").glob("*.yaml")}
    names = [*rows(), *CONTROL_ROWS]
    assert len(files) == len(names) == 13
    for name in names:
        assert row(name)["name"] == name


@pytest.mark.parametrize("name", rows())
def test_a_row_does_what_its_name_says(name):
    settings = AttackerSettings().for_row(name)
    assert settings.specaugment == ("SpecAug" in name)
    assert settings.augmentation.concatenate == ("concatenation" in name)
    rearranged = name[:2] in ("RR", "AR", "SR")
    assert settings.augmentation.strategy == (name[:2].lower() if rearranged else "none")
    assert settings.augmentation.order == "original_first"
    assert settings.augmentation.boundaries == "gapless"


def test_controls_double_the_length_without_rearranging():
    for name, strategy in (("original twice", "same"), ("reversed half", "reversed")):
        changes = row(name)
        assert changes["augmentation"] == {"strategy": strategy, "concatenate": True}
        assert not changes["specaugment"]


def test_a_row_changes_nothing_else():
    mine = AttackerSettings(seed=4, augmentation=Augmentation(boundaries="tight", redraw=True))
    changed = mine.for_row("AR + Concatenation")
    assert changed.augmentation == Augmentation("ar", True, "tight", redraw=True)
    assert replace(changed, augmentation=mine.augmentation) == mine


def test_an_unknown_row_is_refused_with_the_nearest():
    with pytest.raises(VoicePrivacyError, match=r"no row 'RR\+concat' \(did you mean RR"):
        row("RR+concat")


# -- the learning rate -------------------------------------------------------------------------


def test_triangular_is_the_scheduler_of_speechbrain():
    pytest.importorskip("torch")
    from voiceprivacy._speechbrain import speechbrain

    speechbrain()
    from speechbrain.nnet.schedulers import CyclicLRScheduler

    settings = AttackerSettings(cycle_steps=7)
    theirs = CyclicLRScheduler(base_lr=1e-8, max_lr=0.01, step_size=7)
    for step in range(1, 40):
        assert learning_rate(settings, step) == pytest.approx(theirs.clr(step), rel=1e-9)
    assert learning_rate(settings, 7) == 0.01


@pytest.mark.parametrize("steps", [1, 2, 3, 10, 250])
def test_one_cycle_is_the_scheduler_of_torch(steps):
    torch = pytest.importorskip("torch")
    settings = replace(read_settings("small"), max_steps=steps)
    optimiser = torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))], lr=1)
    if steps > 3:
        theirs = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, settings.learning_rate, total_steps=steps, pct_start=0.3
        )
        for step in range(1, steps + 1):
            assert learning_rate(settings, step) == pytest.approx(theirs.get_last_lr()[0])
            if step < steps:
                optimiser.step()
                theirs.step()
    assert learning_rate(settings, steps) == pytest.approx(settings.learning_rate / 25 / 1e4)

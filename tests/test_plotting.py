"""One look for every figure: told apart without colour, labelled, described and closed."""

import base64
import itertools

import matplotlib.colors
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.evidence import evidence_of
from voiceprivacy.plotting import (
    isolation_curves,
    label_evidence,
    legend_beside,
    panels,
    published_points,
    reference_curves,
    show,
    use_style,
    with_household_levels,
)
from voiceprivacy.published import published
from voiceprivacy.styles import ATTACKERS, LEVELS, METHODS, styles

SIMULATED = evidence_of("simulated")
FAMILIES = [LEVELS, ATTACKERS, METHODS, styles(range(7))]
# Machado, Oliveira, Fernandes (2009): linear RGB as seen with each deficiency in full.
VISION = {
    "full": np.eye(3),
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def linear(color):
    rgb = np.array(matplotlib.colors.to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*, a*, b* (white D65) of linear RGB."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1, 1.089])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def summary():
    sizes = [30, 3200, 22024]
    table = pd.DataFrame(
        {
            "level": np.repeat(["OA", "signal only"], 3),
            "n_speakers": sizes * 2,
            "observed": [0.98, 0.7, 0.5, 0.6, 0.42, 0.38],
            "reference": [0.88, 0.38, 0.37, 0.374, 0.368, 0.368],
        }
    )
    return table.assign(
        observed_low=table["observed"] - 0.02, observed_high=table["observed"] + 0.02
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_colours_markers_and_lines_are_each_unique(family):
    for parts in zip(*family.values(), strict=True):
        assert len(set(parts)) == len(family)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("vision", VISION)
def test_colours_stay_apart_for_colour_blind_readers(family, vision):
    seen = [lab(VISION[vision] @ linear(style.color)) for style in family.values()]
    distances = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)]
    assert min(distances) > 10


@pytest.mark.parametrize("family", FAMILIES)
def test_colours_stay_apart_in_black_and_white_and_stand_out_from_the_page(family):
    lightness = np.sort([lab(linear(style.color))[0] for style in family.values()])
    assert np.diff(lightness).min() > 2
    assert lightness[-1] < 63  # contrast with white of 3 and more (WCAG 2.1, criterion 1.4.11)


def test_levels_differ_more_in_black_and_white_than_a_reader_can_miss():
    lightness = np.sort([lab(linear(style.color))[0] for style in LEVELS.values()])
    assert np.diff(lightness).min() > 5


def test_names_of_your_own_get_spare_styles_and_leave_the_books_alone():
    given = styles(["occupation", "signal only", "occupation", "city"])
    assert given["signal only"] == LEVELS["signal only"]
    assert list(given.values())[::2] == list(styles(["a", "b"]).values())
    assert len(set(styles(range(50)).values())) == 50


def test_household_level_is_split_by_class():
    columns = ["level", "n_speakers", "observed"]
    summary = pd.DataFrame([("OA", 30, 0.9), ("HH", 30, 0.95)], columns=columns)
    rows = [("OA", 30, 0.9, "HH1"), ("HH", 30, 0.97, "HH1"), ("HH", 30, 0.93, "HH3+")]
    by_household = pd.DataFrame(rows, columns=[*columns, "HH"])
    split = with_household_levels(summary, by_household)
    assert split["level"].tolist() == ["OA", "OA+HH1", "OA+HH3+"]
    assert split["observed"].tolist() == [0.9, 0.97, 0.93]
    assert list(split) == columns


def test_isolation_curves_draw_every_level_in_order_with_its_band(summary):
    _, ax = plt.subplots()
    isolation_curves(ax, summary)
    assert [line.get_label() for line in ax.lines] == ["signal only", "OA"]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.6, 0.42, 0.38])
    assert ax.lines[1].get_color() == LEVELS["OA"].color
    assert ax.lines[1].get_marker() == LEVELS["OA"].marker
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((0.36, 0.62))
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "Number of speakers N (log)",
        "Isolation probability",
    )
    assert ax.get_xscale() == "log"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["30", "3,200", "22,024"]


def test_sizes_too_close_for_two_labels_share_one():
    _, ax = plt.subplots()
    rows = {"level": "OA", "n_speakers": [30, 3200, 3443], "observed": [0.9, 0.6, 0.5]}
    isolation_curves(ax, pd.DataFrame(rows))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["30", "3,200"]


def test_panels_with_a_common_axis_show_the_sizes_of_all(summary):
    _, axes = panels(2)
    isolation_curves(axes[0, 0], summary)
    isolation_curves(axes[1, 0], summary[summary["n_speakers"] < 3200])
    labels = [tick.get_text() for tick in axes[1, 0].get_xticklabels()]
    assert labels == ["30", "3,200", "22,024"]


def test_curves_of_any_column_without_a_band(summary):
    _, ax = plt.subplots()
    table = summary[summary["level"] == "OA"].assign(attacker="ignorant")
    isolation_curves(ax, table, value="reference", by="attacker")
    assert len(ax.collections) == 0
    assert ax.lines[0].get_color() == ATTACKERS["ignorant"].color
    assert ax.get_ylabel() == "Conditional reference"


def test_reference_curves_are_unmarked_and_share_one_entry(summary):
    _, ax = plt.subplots()
    reference_curves(ax, summary)
    assert len(ax.lines) == 3
    assert {line.get_marker() for line in ax.lines} == {"None"}
    assert ax.get_legend_handles_labels()[1] == ["conditional reference"]


def test_published_points_are_hollow_and_grey_with_the_curves_marker():
    _, ax = plt.subplots()
    points = published("SI").query("quantity == 'observed' and attacker == 'ignorant'")
    published_points(ax, points)
    drawn = [line for line in ax.lines if len(line.get_xdata())]
    assert sorted(line.get_ydata()[0] for line in drawn) == [0.343, 0.395]
    markers = {LEVELS["signal only"].marker, LEVELS["OA+HH1"].marker}
    assert {line.get_marker() for line in drawn} == markers
    for line in ax.lines:
        assert line.get_markerfacecolor() == "white"
        assert len(set(matplotlib.colors.to_rgb(line.get_markeredgecolor()))) == 1
    assert ax.get_legend_handles_labels()[1] == ["published"]


def test_no_published_points_leave_no_entry():
    _, ax = plt.subplots()
    published_points(ax, published("SI").query("attacker == 'informed'"))
    assert ax.get_legend_handles_labels()[1] == []


def test_one_legend_for_all_panels(summary):
    fig, axes = plt.subplots(1, 2)
    for ax in axes:
        isolation_curves(ax, summary)
    reference_curves(axes[1], summary)
    legend_beside(fig)
    labels = [text.get_text() for text in fig.legends[0].get_texts()]
    assert labels == ["signal only", "OA", "conditional reference"]


def test_evidence_is_written_below():
    fig, _ = plt.subplots()
    label_evidence(fig, SIMULATED, evidence_of("published"))
    assert fig.texts[0].get_text() == "Evidence: simulated embeddings; hollow grey: published"
    fig, _ = plt.subplots()
    label_evidence(fig, evidence_of("published"))
    assert fig.texts[0].get_text() == "Evidence: published"


@pytest.fixture
def shown(monkeypatch):
    """What `show` hands to the notebook."""
    bundles = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: bundles.append((data, raw)))
    return bundles


def labelled_figure():
    use_style()
    fig, ax = plt.subplots(figsize=(4, 3))
    ax.plot([0, 1])
    label_evidence(fig, SIMULATED)
    return fig


def test_shown_figure_carries_its_text_and_an_image_and_is_closed(shown):
    fig = labelled_figure()
    show(fig, alt='  Isolation falls\n with "N" & stays > 1/e. ')
    assert not plt.fignum_exists(fig.number)
    (bundle, raw), image = shown[0], base64.b64decode(shown[0][0]["image/png"])
    assert raw
    assert image.startswith(b"\x89PNG")
    assert b"matplotlib" not in image
    assert bundle["text/plain"] == 'Isolation falls with "N" & stays > 1/e.'
    assert 'alt="Isolation falls with &quot;N&quot; &amp; stays &gt; 1/e."' in bundle["text/html"]
    assert bundle["image/png"] in bundle["text/html"]
    width = int(bundle["text/html"].split('width="')[1].split('"')[0])
    assert width == pytest.approx(4 * 96, rel=0.1)


def test_same_figure_gives_the_same_bytes(shown):
    for _ in range(2):
        show(labelled_figure(), alt="A line.")
    assert shown[0] == shown[1]


def test_the_book_takes_the_output_that_carries_the_text(shown):
    render = pytest.importorskip("myst_nb.core.render")
    show(labelled_figure(), alt="A line.")
    priority = render.get_mime_priority("html", [])
    assert next(mime for mime in priority if mime in shown[0][0]) == "text/html"


def test_a_figure_without_text_or_label_is_not_shown(shown):
    with pytest.raises(TypeError, match="alt"):
        show(labelled_figure())
    with pytest.raises(VoicePrivacyError, match="say in a sentence"):
        show(labelled_figure(), alt=" ")
    with pytest.raises(VoicePrivacyError, match="no evidence label"):
        show(plt.figure(), alt="Nothing.")
    assert not shown


def test_show_names_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "IPython.display", None)
    with pytest.raises(VoicePrivacyError, match=r"voiceprivacy\[book\]"):
        show(labelled_figure(), alt="A line.")


def test_bad_input_is_refused(summary):
    fig, ax = plt.subplots()
    with pytest.raises(VoicePrivacyError, match="lacks 'contribution'; it has 'level'"):
        isolation_curves(ax, summary, value="contribution")
    with pytest.raises(VoicePrivacyError, match=r"'signal only' has several values at N = 30, "):
        isolation_curves(ax, pd.concat([summary, summary]))
    with pytest.raises(VoicePrivacyError, match="no evidence label"):
        label_evidence(fig, "real speech")
    with pytest.raises(VoicePrivacyError, match="needs a label"):
        label_evidence(fig)

"""Draw the README's picture anew: book/_static/isolation.png, the book's Figure 1 at L = 1.

    python book/draw_readme.py

Run it when the curves of `notebooks/si_figure1_isolation.ipynb` have moved. It takes its
defaults, and half a minute.
"""

import ast
import io
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from voiceprivacy.evidence import evidence_of
from voiceprivacy.files import written_whole
from voiceprivacy.parameters import declared_parameters, read_notebook
from voiceprivacy.pictures import few_colours
from voiceprivacy.plotting import (
    isolation_curves,
    label_evidence,
    legend_beside,
    panels,
    published_points,
    use_style,
    with_household_levels,
)
from voiceprivacy.published import published
from voiceprivacy.study import LEVELS, Study

BOOK = Path(__file__).parent
PICTURE = BOOK / "_static" / "isolation.png"
NOTEBOOK = BOOK.parent / "notebooks" / "si_figure1_isolation.ipynb"
PIXELS_PER_INCH = 140


def defaults() -> dict[str, object]:
    """The values in the notebook's parameters cell."""
    declared = declared_parameters(read_notebook(NOTEBOOK))
    return {name: ast.literal_eval(one.default) for name, one in declared.items()}


def picture(
    sizes: Sequence[int], targets: int, draws: int, splits: int, attackers: Sequence[str], seed: int
) -> Figure:
    """A panel for each attacker, drawn as in the notebook."""
    study = Study(seed=seed)
    areas = study.geography()[list(LEVELS)]
    printed = published("SI").query(
        "kind == 'number' and quantity == 'observed' and conversation_length == 1"
    )
    protocol = {"sizes": sizes, "targets": targets, "draws": draws, "splits": splits}
    use_style()
    fig, axes = panels(1, len(attackers), height=3.8)
    for ax, attacker in zip(axes.flat, attackers, strict=True):
        result = study.isolate(attacker, 1, side_information=areas, **protocol)
        isolation_curves(ax, with_household_levels(result.summary(), result.summary(by="HH")))
        published_points(ax, printed[printed["attacker"] == attacker])
        ax.set_title(f"{attacker} attacker")
        ax.label_outer()
    axes[0, 0].set_ylim(top=1.03)
    legend_beside(fig)
    label_evidence(fig, study.evidence, evidence_of("published"))
    return fig


def main() -> None:
    """Draw and store the picture."""
    taken = defaults()
    names = ("sizes", "draws", "splits", "attackers", "seed")
    fig = picture(targets=taken["n_targets"], **{name: taken[name] for name in names})
    drawn = io.BytesIO()
    fig.savefig(drawn, format="png", dpi=PIXELS_PER_INCH, bbox_inches="tight")
    with written_whole(PICTURE) as unfinished:
        unfinished.write_bytes(few_colours(drawn))


if __name__ == "__main__":
    main()

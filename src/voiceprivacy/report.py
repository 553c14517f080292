"""A report for a data-protection officer: one page, from embeddings and what else is known."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

from voiceprivacy import __version__
from voiceprivacy.cautions import about_ages, about_codes, cautions
from voiceprivacy.conversations import count_eligible
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.evidence import named_evidence
from voiceprivacy.files import written_whole
from voiceprivacy.granularity import Tolerance, advise
from voiceprivacy.isolation import Isolation
from voiceprivacy.measures import measure, singling_out_rows
from voiceprivacy.report_figures import blocks_figure, isolation_figure
from voiceprivacy.report_words import LIMITS, exposure_words, interval, reading
from voiceprivacy.singling_out import isolate
from voiceprivacy.study import SIZES

PACKAGES = ("numpy", "scipy", "pandas", "numba")


@dataclass(frozen=True)
class Part:
    """A section: its title, paragraphs, a figure, a table."""

    title: str
    texts: list[str] = field(default_factory=list)
    image: str = ""
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    caption: str = ""


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that a report tells.

    Parameters
    ----------
    pool, enrolment
        What was measured.
    isolation
        Of every level of side information.
    metrics
        From `voiceprivacy.measures.measure`.
    remarks
        What could not be measured.
    advice
        From `voiceprivacy.granularity.advise`.
    evidence
        Its label.
    parameters
        By name.
    """

    pool: Embeddings
    enrolment: Embeddings
    isolation: Isolation
    metrics: pd.DataFrame
    remarks: list[str]
    advice: pd.DataFrame
    evidence: str
    parameters: Mapping[str, object]


def examine(
    pool: Embeddings,
    enrolment: Embeddings,
    side_information: pd.DataFrame | None = None,
    *,
    length: int = 1,
    tolerance: Tolerance | None = None,
    missing: str = "error",
    corpus: str = "",
    targets: int | str = "all",
    draws: int = 5,
    splits: int = 10,
    seed: int = 0,
    progress: bool = False,
) -> Findings:
    """Measure what a report tells.

    Parameters
    ----------
    pool, enrolment, side_information, length, missing, targets, draws, splits, seed, progress
        As in `voiceprivacy.singling_out.isolate`.
    tolerance
        See `voiceprivacy.granularity.advise`.
    corpus
        What the embeddings come from: the name of a corpus, or ``"simulated"``.

    Raises
    ------
    VoicePrivacyError
        As `isolate`.
    """
    tolerance = tolerance or Tolerance()
    eligible = count_eligible(pool, 2 * length)
    sizes = sorted({min(size, eligible) for size in SIZES if eligible} | {eligible})
    isolation = isolate(
        pool, enrolment, sizes=sizes, length=length, side_information=side_information,
        targets=targets, draws=draws, splits=splits, missing=missing, seed=seed,
        progress=progress,
    )  # fmt: skip
    metrics = [singling_out_rows(isolation)]
    known = pd.DataFrame() if side_information is None else side_information
    remarks = [*about_ages(known), *about_codes(known)]
    try:
        linked, more = measure(
            pool, enrolment, lengths=[length], sizes=[s for s in sizes if s > 1], draws=draws,
            singling_out=False, seed=seed, progress=progress,
        )  # fmt: skip
        metrics.append(linked)
        remarks += more
    except VoicePrivacyError as error:  # isolation can be told nevertheless
        remarks.append(str(error))
    parameters = {
        "conversation length L": length, "random sets": draws, "splits": splits, "seed": seed,
        "tolerated contribution": tolerance.contribution,
        "small block": f"fewer than {tolerance.smallest_block} speakers",
        "tolerated share in small blocks": f"{tolerance.share:.1%}",
    }  # fmt: skip
    evidence = named_evidence(corpus or "embeddings as given")
    return Findings(
        pool, enrolment, isolation, pd.concat(metrics, ignore_index=True), remarks,
        advise(isolation, tolerance), evidence, parameters,
    )  # fmt: skip


def render(findings: Findings, title: str = "How far these voices single people out") -> str:
    """Return the report as one HTML page that needs nothing else."""
    from jinja2 import Environment, PackageLoader

    page = Environment(loader=PackageLoader("voiceprivacy"), autoescape=True)
    return page.get_template("report.html").render(
        title=title,
        evidence=findings.evidence,
        date=date.today().isoformat(),
        version=__version__,
        reading=reading(findings.isolation, findings.metrics, findings.advice),
        parts=_parts(findings),
        cautions=[*cautions(findings.isolation), *findings.remarks, *LIMITS],
    )


def write_report(findings: Findings, path: str | os.PathLike) -> None:
    """Write the report whole."""
    with written_whole(Path(path)) as temporary:
        temporary.write_text(render(findings), encoding="utf-8")


def _parts(findings: Findings) -> list[Part]:
    parts = [_measured(findings), _metrics(findings.metrics)]
    if len(findings.isolation.levels) > 1:
        parts += [_levels(findings), _blocks(findings), _advice(findings.advice)]
    return [*parts, _exposure(findings.isolation), _settings(findings.parameters)]


def _measured(findings: Findings) -> Part:
    """What was measured on what."""
    rows = [
        [name, f"{len(part):,}", f"{len(np.unique(part.speakers)):,}", str(part.dimension)]
        for name, part in (
            ("released", findings.pool),
            ("held by the attacker", findings.enrolment),
        )
    ]
    counts = findings.isolation.counts
    text = (
        f"{counts['eligible']:,} speakers have enough utterances to be tested among; "
        f"{len(findings.isolation.targets):,} of them are enrolled and were looked for."
    )
    return Part("What was measured", [text], "", ["speech", "utterances", "speakers", "d"], rows)


def _metrics(metrics: pd.DataFrame) -> Part:
    texts = [
        "Singling out: how often exactly one of N speakers matches the attacker's threshold. "
        "Linkability: how often the right one of N enrolled speakers matches best. "
        "EER: how often a comparison of two recordings errs; 50 % is chance, and it says little "
        "about a crowd.",
    ]
    rows = [
        [
            f"{row.metric}{f' ({row.rule})' if row.rule else ''}", f"{row.n_speakers:,}",
            interval(row.observed, row.observed_low, row.observed_high),
            "not known" if pd.isna(row.chance) else f"{row.chance:.3f}",
        ]
        for row in metrics.itertuples()
    ]  # fmt: skip
    columns = ["metric", "speakers", "measured (95 % interval)", "chance"]
    return Part("The voice alone", texts, "", columns, rows)


def _levels(findings: Findings) -> Part:
    summary = _at_largest(findings.isolation)
    rows = [
        [
            row.level, f"{row.block_size:,.1f}",
            interval(row.observed, row.observed_low, row.observed_high), f"{row.reference:.3f}",
            "not known" if pd.isna(row.chance) else f"{row.chance:.3f}",
            interval(row.contribution, row.contribution_low, row.contribution_high, sign=True),
        ]
        for row in summary.itertuples()
    ]  # fmt: skip
    texts = [
        "Each level discloses its column and all before it. The reference is what a threshold "
        "set for one expected match reaches by chance in a block of that size; the contribution "
        "is what the voice adds to it.",
    ]
    columns = ["known besides the voice", "speakers left", "isolated", "reference", "chance",
               "contribution"]  # fmt: skip
    image = isolation_figure(findings.isolation.summary(), findings.evidence)
    caption = f"N = {findings.isolation.sizes.max():,} speakers"
    return Part("With what else is known", texts, image, columns, rows, caption)


def _blocks(findings: Findings) -> Part:
    text = (
        "How many speakers share a target's values, in the whole set. Whoever is alone in a block "
        "is singled out without any voice."
    )
    return Part("Blocks", [text], blocks_figure(findings.isolation, findings.evidence))


def _advice(advice: pd.DataFrame) -> Part:
    rows = [[row.level, row.advice, row.why] for row in advice.itertuples()]
    columns = ["level", "advice", "because"]
    text = "Judged by the tolerances at the end of this page, which are yours to choose."
    return Part("What may be released", [text], "", columns, rows)


def _exposure(isolation: Isolation) -> Part:
    """Who bears the risk."""
    return Part("Who is exposed most", exposure_words(isolation))


def _settings(parameters: Mapping[str, object]) -> Part:
    rows = [[name, str(value)] for name, value in parameters.items()]
    rows += [[name, version(name)] for name in PACKAGES]
    return Part("Parameters and versions", [], "", ["name", "value"], rows)


def _at_largest(isolation: Isolation) -> pd.DataFrame:
    summary = isolation.summary()
    return summary[summary["n_speakers"] == isolation.sizes.max()]

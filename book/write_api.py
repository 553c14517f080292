"""Write book/api.md, the reference by module, from the package's own docstrings.

    python book/write_api.py

`tests/test_api_page.py` fails where the page is not what this writes. A new module needs a place
in GROUPS.
"""

import ast
from pathlib import Path

BOOK = Path(__file__).parent
PACKAGE = BOOK.parent / "src" / "voiceprivacy"

# In the order in which data flow, from speech to a report.
GROUPS = {
    "Speech": "corpora common_voice subsets librispeech librispeech_downloads kaldi vpc vpac "
    "speakers durations synthetic miniatures downloads",
    "Anonymization": "anonymizers anonymize systems external external_systems recipes precomputed",
    "Words, and SegReConcat": "segmentation boundaries segreconcat augment",
    "Attackers": "attack_models attackers attacker_settings attacker_rows attack_data attacks "
    "attack_study attack_tables",
    "Embeddings": "extractors models sidekit embeddings enrolment conversations scoring",
    "Simulated embeddings": "simulation speaker_model simulation_fit simulation_predict gender "
    "examples",
    "Geography and side information": "census apportionment households assignment geolocation "
    "fidelity side_information blocks candidates",
    "Singling out": "singling_out isolation given_conversations reference controls differences",
    "Linkability and equal error rate": "linkability linkability_scores conversation_trials "
    "conversation_eer eer verification",
    "Intervals": "intervals",
    "Evaluation and report": "evaluation evaluation_settings evaluation_work evaluation_results "
    "speech_sides metrics measures cautions granularity report report_words report_figures",
    "Papers beside their reproduction": "study v25_study common_voice_study published comparison "
    "verdicts evidence fit_notes reference_runs",
    "Figures, tables and sound": "plotting interactive interactive_charts interactive_formulas "
    "pictures styles tables word_plots rearrangement_plots v25_plots players",
    "Runs": "cli runner parameters kinds parts files paths randomness sources errors",
}
HEAD = """# Reference by module

What each public module of `voiceprivacy` is for and the names in it, in the order in which data
flow. `help()` in Python tells more of any of them: shapes, units, errors, sources and an example.

```python
from voiceprivacy.reference import conditional_reference

help(conditional_reference)
```

`voiceprivacy` itself offers {top}. The command line is
`voiceprivacy --help`. Modules whose names begin with an underscore are internal and not listed.
"""


def modules() -> dict[str, Path]:
    """The file behind each public module; a package counts as one."""
    files = [path for path in PACKAGE.glob("*.py") if not path.stem.startswith("_")]
    packages = [path for path in PACKAGE.glob("*/__init__.py") if path.parent.name[0] != "_"]
    return {path.stem: path for path in files} | {path.parent.name: path for path in packages}


def described(path: Path) -> tuple[str, list[str]]:
    """A module's first sentence and its public names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    summary = (ast.get_docstring(tree) or "").partition("\n\n")[0].replace("\n", " ")
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return summary, sorted(ast.literal_eval(statement.value), key=str.lower)
    defined = [one for one in tree.body if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    return summary, [one.name for one in defined if not one.name.startswith("_")]


def page() -> str:
    """The whole page."""
    found, listed = modules(), " ".join(GROUPS.values()).split()
    if astray := set(found) ^ set(listed):
        raise SystemExit(f"book/write_api.py, GROUPS: mend {', '.join(sorted(astray))}")
    import voiceprivacy

    parts = [HEAD.format(top=", ".join(f"`{name}`" for name in sorted(voiceprivacy._PLACES)))]
    for group, names in GROUPS.items():
        parts.append(f"\n## {group}\n\n| module | what it is for | names |\n|---|---|---|\n")
        for name in names.split():
            summary, public = described(found[name])
            parts.append(f"| `{name}` | {summary} | {', '.join(f'`{one}`' for one in public)} |\n")
    return "".join(parts)


if __name__ == "__main__":
    (BOOK / "api.md").write_text(page(), encoding="utf-8")

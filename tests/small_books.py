"""A small book with our configuration, built by our own script."""

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import yaml
from conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow"))
from build_book import make_book

from voiceprivacy.comparison import compare, write_comparison
from voiceprivacy.evidence import evidence_of

STUBS = ("data_and_licences", "evidence", "limits", "run_again")  # what generated pages link to
CHAPTERS = ["_executed/si_small", "_generated/scoreboard", "_generated/status", *STUBS]
TOC = {
    "format": "jb-book",
    "root": "book/intro",
    "parts": [{"caption": "A part", "chapters": [{"file": f"book/{page}"} for page in CHAPTERS]}],
}


def build_small_book(root: Path, executed: nbformat.NotebookNode) -> Path:
    """Build a page with a formula, an executed notebook's and the generated ones; return `root`."""
    shutil.copy(ROOT / "_config.yml", root)
    for name in ("book/_ext", "book/_static"):
        shutil.copytree(ROOT / name, root / name)
    (root / "book" / "references.bib").touch()
    (root / "book" / "intro.md").write_text("# A book\n\n$$P_0(n) = (1 - 1/n)^{n-1}$$\n")
    for stub in STUBS:
        (root / "book" / f"{stub}.md").write_text(f"# {stub}\n")
    (root / "_toc.yml").write_text(yaml.safe_dump(TOC))
    found = {"targets": 495, "semi_L1_N12800_OA_observed": (0.5871, 0.5801, 0.5941)}
    table = compare(found, evidence=evidence_of("simulated"))
    write_comparison(table, root / "build" / "smoke" / "results", "si_small")
    for folder in ("notebooks", "build/smoke/notebooks"):
        (root / folder).mkdir(parents=True)
        nbformat.write(executed, root / folder / "si_small.ipynb")
    (root / "config").mkdir()
    parameters = "{smoke: {}, book: {}, full: {}, paper: {}}"
    (root / "config" / "profiles.yaml").write_text(f"si_small: {{parameters: {parameters}}}\n")
    for command in (["init", "-q"], ["remote", "add", "origin", "git@github.com:ours/vp.git"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    make_book(root, "smoke")
    return root

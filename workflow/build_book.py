"""Build the book from the executed notebooks of one profile: python workflow/build_book.py PROFILE

The notebooks have been run by the Snakefile. This copies them to where the table of contents lists
them, writes the scoreboard and the status page, checks what Jupyter Book would only warn of, builds
with warnings as errors, and sees that every page is there.
"""

import filecmp
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import run_status
import scoreboard
import yaml
from grid import GridError, read_grid
from page_text import write_page

from voiceprivacy.errors import VoicePrivacyError

ROOT = Path(__file__).resolve().parents[1]
EXECUTED, GENERATED = Path("book", "_executed"), Path("book", "_generated")


class BookError(RuntimeError):
    """The book cannot be built; the message says why and what to do."""


def check_jupyter_book(found: str) -> None:
    """Refuse a Jupyter Book that would ignore our configuration and yet end well."""
    if found.split(".")[0] != "1":
        raise BookError(
            f"the book needs jupyter-book >=1,<2, but {found} is installed; "
            "run `make install`, or: pip install -c constraints.txt 'jupyter-book>=1,<2'"
        )


def pages(toc: dict) -> Iterator[str]:
    """Yield the pages that a table of contents lists, at any depth, the landing page first."""
    if "root" not in toc:
        raise BookError("_toc.yml: the entry `root`, the landing page, is missing")
    yield toc["root"]
    yield from _files(toc)


def _files(node: dict) -> Iterator[str]:
    for key in ("parts", "chapters", "sections"):
        for part in node.get(key, []):
            if "file" in part:
                yield part["file"]
            yield from _files(part)


def check_pages(root: Path, listed: list[str]) -> None:
    """Refuse entries of the table of contents that no file stands behind."""
    for page in listed:
        if "\\" in page:
            raise BookError(f"_toc.yml: {page!r}: write / between folders")
        stem = page.removesuffix(".md").removesuffix(".ipynb")
        if not any((root / f"{stem}{suffix}").exists() for suffix in (".md", ".ipynb")):
            run = " (not in config/profiles.yaml, so never run)" if "_executed" in page else ""
            raise BookError(f"_toc.yml lists {page!r}, but there is no such file{run}")


def place_executed(root: Path, names: list[str], profile: str) -> None:
    """Make `book/_executed` hold exactly the executed notebooks of one profile.

    A copy that is the same is left alone, so that its page is not built again.
    """
    target = root / EXECUTED
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("*.ipynb"):
        if old.stem not in names:
            old.unlink()
    for name in names:
        source = root / "build" / profile / "notebooks" / f"{name}.ipynb"
        if not source.exists():
            raise BookError(f"{name} has not been run under {profile}: make book PROFILE={profile}")
        copy = target / source.name
        if not copy.exists() or not filecmp.cmp(source, copy, shallow=False):
            shutil.copyfile(source, copy)


def write_generated(root: Path, names: list[str], profile: str) -> None:
    """Write the pages that are made from a profile's results and executed notebooks."""
    made, target = root / "build" / profile, root / GENERATED
    write_page(target / "scoreboard.md", scoreboard.page(made / "results", names, profile))
    write_page(target / "status.md", run_status.page(made / "notebooks", names, profile))


def build(root: Path) -> None:
    """Run Jupyter Book; warnings and missing references are errors."""
    command = [str(Path(sys.executable).parent / "jupyter-book"), "build"]
    command += ["--all"] if cited_anew(root) else []
    done = subprocess.run(
        [*command, "-q", "-W", "-n", "--keep-going", "."],
        cwd=root,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stdout)
        raise BookError("Jupyter Book stopped; the warnings above name the pages")


def cited_anew(root: Path) -> bool:
    """Whether the references changed since the last build: Sphinx would number only some anew."""
    built, cited = root / "_build" / "html" / "index.html", root / "book" / "references.bib"
    return built.exists() and cited.stat().st_mtime > built.stat().st_mtime


def check_built(root: Path, listed: list[str]) -> Path:
    """Return the path of the built index.html once every page is there."""
    html = root / "_build" / "html"
    expected = ["index", *(page.removesuffix(".md").removesuffix(".ipynb") for page in listed)]
    if missing := [page for page in expected if not (html / f"{page}.html").exists()]:
        raise BookError(f"built, but without {missing[0]}.html ({len(missing)} pages missing)")
    return html / "index.html"


def make_book(root: Path, profile: str) -> Path:
    """Build the book at `root` and return the path of its first page."""
    check_jupyter_book(version("jupyter-book"))
    names = [run.name for run in read_grid(root / "config" / "profiles.yaml", profile)]
    listed = list(pages(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))))
    place_executed(root, names, profile)
    write_generated(root, names, profile)
    check_pages(root, listed)
    build(root)
    return check_built(root, listed)


if __name__ == "__main__":
    try:
        index = make_book(ROOT, sys.argv[1])
    except (BookError, GridError, VoicePrivacyError) as error:
        sys.exit(f"Error: {error}")
    print(f"The book ({sys.argv[1]} profile) is ready. Open in a browser:\n{index}")

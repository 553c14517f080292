"""Print the built book, or one page of it, into a PDF: ``python workflow/print_book.py [PAGE]``.

Chromium prints each page as its style sheet for paper says, and the prints are joined in the order
of ``_toc.yml``, with an outline. Solutions and folded code stay folded, as on the screen.
"""

import shutil
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path

import yaml
from build_book import ROOT, BookError, pages
from pypdf import PdfReader, PdfWriter
from tqdm import tqdm

from voiceprivacy.files import written_whole

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer")
# Milliseconds of the page's own clock for formulas and live figures to be drawn.
DRAWN = 20_000


def browser() -> str:
    """Return the path of a Chromium, or say that there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise BookError(f"no Chromium to print with; install one of {', '.join(BROWSERS)}")
    return found


def printed(html: Path, target: Path) -> PdfReader:
    """Print one page."""
    with tempfile.TemporaryDirectory() as profile:
        command = [browser(), *QUIET, f"--virtual-time-budget={DRAWN}"]
        command += [f"--user-data-dir={profile}", f"--print-to-pdf={target}", html.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode or not target.is_file():
        raise BookError(f"{html.name} was not printed: {done.stderr.strip()[-500:]}")
    return PdfReader(target)


def chosen(root: Path, page: str = "") -> list[Path]:
    """Return the built pages to print: all of them, or the one whose name is given."""
    html = root / "_build" / "html"
    if not (html / "index.html").exists():
        raise BookError("the book is not built: make book")
    listed = pages(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8")))
    built = [html / Path(name).with_suffix(".html") for name in listed]
    if page and page not in (stems := [path.stem for path in built]):
        raise BookError(f"no page {page!r}; there are: {', '.join(stems)}")
    return [path for path in built if not page or path.stem == page]


def title(html: Path) -> str:
    """Return what the browser's window is called, without the book's own name."""
    text = html.read_text(encoding="utf-8")
    name = text.split("<title>", 1)[1].split("</title>", 1)[0]
    return unescape(name).split(" \N{EM DASH} ")[0].strip()


def print_book(root: Path, page: str = "") -> Path:
    """Print into ``_build/pdf`` and return the PDF's path."""
    target = root / "_build" / "pdf" / f"{page or 'voiceprivacy'}.pdf"
    joined = PdfWriter()
    with tempfile.TemporaryDirectory() as folder:
        for html in tqdm(chosen(root, page), desc="printing", unit="page", leave=False):
            print_of_page = printed(html, Path(folder, f"{html.stem}.pdf"))
            joined.append(print_of_page, outline_item=title(html), import_outline=False)
        with written_whole(target) as temporary:
            joined.write(temporary)
    return target


if __name__ == "__main__":
    try:
        print(print_book(ROOT, *sys.argv[1:]))
    except BookError as error:
        print(f"Error: {error}.", file=sys.stderr)
        sys.exit(2)

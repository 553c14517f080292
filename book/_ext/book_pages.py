"""The book's own Sphinx extension: local formulas, and buttons that lead somewhere.

- MathJax is copied from its Python package into the pages' static files, so that formulas are
  drawn from disk without a network.
- The repository, issue and Binder buttons lead to the GitHub repository this clone came from;
  a clone from elsewhere gets none, rather than dead ones.
- On the page of an executed notebook they lead to its source in `notebooks/`, because
  `book/_executed/` is not in the repository.
- The scripts that sphinx-thebe adds to each page are dropped: nothing here uses them, and they
  name a content delivery network.
"""

import re
import shutil
import subprocess
from pathlib import Path

import mathjax

EXECUTED, SOURCES = "book/_executed/", "notebooks/"


def place_mathjax(app) -> None:
    """Copy the formula renderer and its fonts to where `mathjax_path` expects them."""
    source = Path(mathjax.__file__).parent / "static" / "mathjax" / "es5"
    target = Path(app.outdir, "_static", app.config.mathjax_path).parent
    if (target / "output").exists():
        return
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source / "tex-chtml.js", target)
    fonts = Path("output", "chtml", "fonts")
    shutil.copytree(source / fonts, target / fonts)


def github_page(remote: str) -> str | None:
    """Return the web address of a GitHub remote, or None for any other.

    Examples
    --------
    >>> github_page("git@github.com:ours/voiceprivacy.git")
    'https://github.com/ours/voiceprivacy'
    >>> github_page("/home/me/voiceprivacy") is None
    True
    """
    found = re.fullmatch(r".*github\.com[:/]([^/]+)/([^/]+?)(\.git)?/?", remote.strip())
    return f"https://github.com/{found[1]}/{found[2]}" if found else None


def link_to_origin(app, config) -> None:
    """Switch the repository buttons on if this clone came from GitHub."""
    git = subprocess.run(
        ["git", "-C", app.confdir, "config", "--get", "remote.origin.url"],
        capture_output=True,
        text=True,
        check=False,
    )
    if page := github_page(git.stdout):
        config.html_theme_options.update(
            repository_url=page,
            repository_branch="main",
            use_repository_button=True,
            use_issues_button=True,
            launch_buttons={
                "binderhub_url": "https://mybinder.org",
                "notebook_interface": "jupyterlab",
            },
        )


def point_at_sources(app, pagename, templatename, context, doctree) -> None:
    """Let the buttons of an executed notebook lead to its source."""
    if pagename.startswith(EXECUTED):
        for group in context.get("header_buttons", []):
            for button in [group, *group.get("buttons", [])]:
                if "url" in button and "_sources/" not in button["url"]:
                    button["url"] = button["url"].replace(EXECUTED, SOURCES)


def drop_thebe(app, pagename, templatename, context, doctree) -> None:
    """Leave out sphinx-thebe's scripts."""
    context["script_files"] = [
        script
        for script in context.get("script_files", [])
        if "thebe" not in f"{script.filename} {script.attributes.get('body')}"
    ]


def setup(app) -> dict[str, bool]:
    """Connect the four functions to Sphinx."""
    app.connect("config-inited", link_to_origin)
    app.connect("builder-inited", place_mathjax)
    # After the theme (500) has made its buttons and sphinx-thebe has added its scripts.
    app.connect("html-page-context", point_at_sources, priority=900)
    app.connect("html-page-context", drop_thebe, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

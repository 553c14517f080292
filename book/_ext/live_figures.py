"""The book's live figures: one copy of Vega beside its pages, loaded only where a figure is.

`voiceprivacy.interactive` puts a still picture and its chart on a page. To such a page this adds
the scripts that draw the chart, from disk and without a network.
"""

from pathlib import Path

import vl_convert

from voiceprivacy.interactive import CLASS, VEGALITE

# Named by versions, so that another version is never taken for this one.
BUNDLE = f"vendor/vega-lite-{VEGALITE}-{vl_convert.__version__}.js"


def place_vega(app) -> None:
    """Write Vega, Vega-Lite and their embedding as one script, unless it is there already."""
    target = Path(app.outdir, "_static", BUNDLE)
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    script = vl_convert.javascript_bundle(vl_version=VEGALITE)
    # In a function of its own: the bundle's names would collide with Sphinx's scripts.
    target.write_text(f"(() => {{{script}\n}})();\n", encoding="utf-8")


def load_where_needed(app, pagename, templatename, context, doctree) -> None:
    """Add the scripts to a page that has a figure, and to no other."""
    if f'class="{CLASS}"' in context.get("body", ""):
        for script in (BUNDLE, "live-figures.js"):
            app.add_js_file(script, loading_method="defer")


def setup(app) -> dict[str, bool]:
    """Connect the two functions to Sphinx."""
    app.connect("builder-inited", place_vega)
    app.connect("html-page-context", load_where_needed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

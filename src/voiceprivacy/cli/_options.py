"""Options that several commands have, and how they are read."""

from collections.abc import Callable

import click

missing = click.option(
    "--missing",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="What to do with utterances that a Kaldi directory does not have whole.",
)


def list_of(kind: type) -> Callable:
    """Read a comma-separated option; nothing stays None."""

    def parse(context, parameter, text):
        try:
            return None if text is None else [kind(part.strip()) for part in text.split(",")]
        except ValueError:
            raise click.BadParameter(
                f"expected values with commas between, not {text!r}."
            ) from None

    return parse


def n_or_all(context, parameter, text: str) -> int | str:
    """Read an option that is a number or `all`."""
    if text == "all" or text.isdecimal():
        return text if text == "all" else int(text)
    raise click.BadParameter(f"expected a number or all, not {text!r}.")

"""Options that commands on speech have in common."""

import click

missing = click.option(
    "--missing",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="What to do with utterances that a Kaldi directory does not have whole.",
)

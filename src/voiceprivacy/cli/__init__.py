"""The command line: `voiceprivacy COMMAND`. One module a command, imported when it is called."""

import importlib
import sys

import click

from voiceprivacy import __version__
from voiceprivacy.errors import VoicePrivacyError

COMMANDS = (
    "anonymize",
    "assign",
    "attack",
    "augment",
    "census",
    "corpus",
    "download",
    "embeddings",
    "evaluate",
    "isolate",
    "report",
    "run",
    "segment",
    "simulate",
)


class _Commands(click.Group):
    """Finds each command in the module of its name, and reports bad input without a traceback."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return importlib.import_module(f"voiceprivacy.cli.{name}").command

    def invoke(self, context: click.Context):
        try:
            return super().invoke(context)
        except VoicePrivacyError as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(1)
        except OSError as error:
            click.echo(f"Error: {error.strerror or error}: {error.filename or 'a file'}", err=True)
            sys.exit(1)
        except KeyboardInterrupt:
            click.echo(
                "Interrupted. What was finished is kept; run the same command again.", err=True
            )
            sys.exit(130)


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="voiceprivacy")
def main() -> None:
    """Measure how far anonymized speech still singles people out."""

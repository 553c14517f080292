"""The command line: `voiceprivacy COMMAND`. One module a command, imported when it is called."""

import importlib

import click

from voiceprivacy import __version__
from voiceprivacy.cli._ending import end, interrupted

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
    """Finds each command in the module of its name, and ends every error with one message."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return importlib.import_module(f"voiceprivacy.cli.{name}").command

    def invoke(self, context: click.Context):
        try:
            return super().invoke(context)
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # click's own ways to end; a reader such as `head` may leave before the end
        except KeyboardInterrupt:
            interrupted()
        except Exception as error:
            end(error, context.params["debug"])


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="voiceprivacy")
@click.option("--debug", is_flag=True, help="Show the traceback of an error: --debug COMMAND.")
def main(debug: bool) -> None:
    """Measure how far anonymized speech still singles people out.

    Ends with status 0 if all went well, 2 if something is to be mended by you (one message says
    what), 1 if the program itself is at fault, 130 if interrupted.
    """

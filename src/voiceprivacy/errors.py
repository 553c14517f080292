"""The one kind of error that bad input raises, and how its message lists offenders."""

from collections.abc import Iterable


class VoicePrivacyError(ValueError):
    """Bad input. The message says what is wrong, where, what was expected and what to do.

    The command line prints the message without a traceback and exits with status 2.
    """


def listed(items: Iterable[object], limit: int = 5) -> str:
    """Name the first few of `items` and count the rest, for an error message.

    Examples
    --------
    >>> listed(["a", "b"])
    "'a', 'b'"
    >>> listed(range(8), limit=3)
    '0, 1, 2 and 5 more'
    """
    items = list(items)
    named = ", ".join(repr(item) for item in items[:limit])
    return named if len(items) <= limit else f"{named} and {len(items) - limit} more"

"""One piece of work after another, or many at once: on threads here, or wherever joblib is told.

Inside ``joblib.parallel_config("dask")`` or another backend, work goes there. Whoever does it must
see the same files, and results do not depend on who does.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tqdm import tqdm

from voiceprivacy.errors import VoicePrivacyError


def mapped(
    do: Callable[[Any], Any],
    items: Iterable[Any],
    *,
    workers: int = 1,
    progress: bool = False,
    unit: str = "utterance",
) -> list:
    """Return do(item) for every item, in their order; the first error stops everything.

    Parameters
    ----------
    do
        With a backend of other processes: something that can be pickled.
    workers
        Threads; 1 leaves the number to the backend that joblib is told to use, if it is.
    progress
        Show a bar on stderr.

    Raises
    ------
    VoicePrivacyError
        If there are no workers.

    Examples
    --------
    >>> mapped(abs, [-2, 3, -1], workers=2)
    [2, 3, 1]
    """
    items = list(items)
    done = one_by_one(do, items, workers=workers)
    return list(tqdm(done, total=len(items), disable=not progress, unit=unit))


def one_by_one(
    do: Callable[[Any], Any], items: Sequence[Any], *, workers: int = 1
) -> Iterator[Any]:
    """Return what `mapped` does, each result as soon as it and those before it are there."""
    from joblib import Parallel, delayed

    if workers < 1:
        raise VoicePrivacyError(f"{workers} workers cannot work; expected 1 or more.")
    # Threads suit this work, which waits for files or runs outside Python; no context means 1.
    parallel = Parallel(
        n_jobs=None if workers == 1 else workers, prefer="threads", return_as="generator"
    )
    return parallel(delayed(do)(item) for item in items)

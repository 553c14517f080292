"""Results of long runs, kept with the project to be shown beside a fresh, shorter one."""

import json

import pandas as pd

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.paths import shipped


def reference_run(table: str, profile: str = "full") -> tuple[pd.DataFrame, str] | None:
    """Return a kept table of results and a sentence on when and where it was computed.

    Parameters
    ----------
    table
        The file's path below a run's results, such as ``"tables/src_table1_ablation.csv"``.
    profile
        The profile it was run under.

    Returns
    -------
    tuple or None
        The table, and its origin in words: profile, date, commit, machine. None if no such run
        is kept.

    Raises
    ------
    VoicePrivacyError
        If the table is kept but its origin is not.

    Notes
    -----
    ``make keep PROFILE=full`` copies the results of the last run into ``data/reference_runs``.

    Examples
    --------
    >>> reference_run("no_such_table.csv") is None
    True
    """
    try:
        path = shipped("data", f"reference_runs/{profile}/{table}")
        kept = json.loads(shipped("data", f"reference_runs/{profile}.json").read_text("utf-8"))
    except VoicePrivacyError:
        return None
    if table not in kept:
        raise VoicePrivacyError(
            f"{path} is kept, but data/reference_runs/{profile}.json does not say where it comes "
            f"from; run: make keep PROFILE={profile}"
        )
    origin = "profile {profile}, {date}, commit {commit}, {machine}"
    return pd.read_csv(path), origin.format(profile=profile, **kept[table])

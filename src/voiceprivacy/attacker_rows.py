"""The rows of the SegReConcat paper's Table 1, and controls beyond it: one YAML file a row.

A row says how training speech is augmented; the attacker's own settings stand in
`voiceprivacy.attacker_settings`.
"""

import re
from typing import Any

from voiceprivacy._yaml import nearest, read_yaml
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.paths import shipped

ROWS = (
    "no augmentation",
    "SpecAug",
    "RR",
    "RR+concatenation",
    "RR+concatenation+SpecAug",
    "AR",
    "AR+concatenation",
    "AR+concatenation+SpecAug",
    "SR",
    "SR+concatenation",
    "SR+concatenation+SpecAug",
)
CONTROL_ROWS = ("original twice", "reversed half")


def rows() -> list[str]:
    """Return the names of Table 1's rows in the paper's order, without our controls.

    Examples
    --------
    >>> rows()[:4]
    ['no augmentation', 'SpecAug', 'RR', 'RR+concatenation']
    """
    return list(ROWS)


def row(name: str) -> dict[str, Any]:
    """Return what one row of Table 1, or one of our controls, changes in an attacker's settings.

    Parameters
    ----------
    name
        A name of `ROWS` or `CONTROL_ROWS`; case, blanks and signs do not matter.

    Returns
    -------
    dict
        ``name``, ``specaugment`` and ``augmentation`` (some of its keys).

    Raises
    ------
    VoicePrivacyError
        If there is no such row.

    Examples
    --------
    >>> row("RR + concatenation")["augmentation"]
    {'strategy': 'rr', 'concatenate': True}
    """
    files = {_file_name(known): known for known in (*ROWS, *CONTROL_ROWS)}
    if _file_name(name) not in files:
        raise VoicePrivacyError(
            f"no row {name!r}{nearest(name, files.values())}; there are: "
            f"{', '.join(files.values())}."
        )
    path = shipped("config", f"segreconcat/{_file_name(name)}.yaml")
    return {"name": files[_file_name(name)]} | read_yaml(path)


def _file_name(name: str) -> str:
    return "_".join(re.findall("[a-z]+", name.lower()))

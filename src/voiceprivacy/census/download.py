"""Download of the official tables of one district from Nomis and the ONS Open Geography Portal."""

import csv
import io
import json
import os
import urllib.error
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tqdm import tqdm

from voiceprivacy._http import PassingFault, faults_that_pass, opened, retried
from voiceprivacy.census.codes import explain_codes, level_of
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.files import written_whole

NOMIS = "https://www.nomisweb.co.uk/api/v01/dataset"
LOOKUP = (
    "https://services1.arcgis.com/ESMARspQHYMw9BZ9/arcgis/rest/services/"
    "OA_LSOA_MSOA_EW_DEC_2021_LU_v3/FeatureServer/0/query"
)
PAGE = 25_000
"""Rows that Nomis gives in one answer, without saying that there are more."""

LOOKUP_PAGE = 2_000

# Table, level, Nomis dataset, dimensions. TS009 exists for districts only.
_TABLES = (
    ("ts001", "oa", "NM_2021_1", ("c2021_restype_3",)),
    ("ts002", "oa", "NM_2022_1", ("c2021_lpstat_12",)),
    ("ts007a", "oa", "NM_2020_1", ("c2021_age_19",)),
    ("ts008", "oa", "NM_2028_1", ("c_sex",)),
    ("ts009", "ltla", "NM_2029_1", ("c_sex", "c2021_age_92")),
    ("ts017", "oa", "NM_2037_1", ("c2021_hhsize_10",)),
)
_LOOKUP_FIELDS = ("OA21CD", "LSOA21CD", "LSOA21NM", "MSOA21CD", "MSOA21NM", "LAD22CD", "LAD22NM")

Answer = TypeVar("Answer")


def fetch(
    district: str,
    out: str | os.PathLike,
    *,
    nomis_url: str = NOMIS,
    lookup_url: str = LOOKUP,
    attempts: int = 5,
    wait: float = 2.0,
    timeout: float = 60.0,
    progress: bool = False,
) -> list[Path]:
    """Download what `read_output_areas` needs for one district of England or Wales.

    Seven files: the lookup, and TS001, TS002, TS007A, TS008 and TS017 for output areas and TS009
    for the district. A file is written whole when all its rows are there, and is kept: run again
    after a fault, and only what is missing is downloaded.

    Parameters
    ----------
    district
        District code of 2022, such as ``"E06000017"``.
    out
        Folder for the files, made if it is not there.
    nomis_url, lookup_url
        Where the Nomis API's datasets and the lookup's query are.
    attempts
        How often each request is made at most, after a fault that may pass.
    wait
        Seconds before the second attempt; doubled before each further one.
    timeout
        Seconds without an answer that count as a fault.
    progress
        Whether to show a progress bar.

    Returns
    -------
    list of pathlib.Path
        The files, lookup first.

    Raises
    ------
    VoicePrivacyError
        If `district` is no district of the census tables, a request fails to the end, or an
        answer has other rows or areas than it should.

    Notes
    -----
    Nomis API: answers are limited to 25,000 rows and are paged by RecordOffset; RECORD_COUNT is
    the number of all rows. The lookup is the ONS "Output Area (2021) to LSOA to MSOA to LAD
    (December 2021) Exact Fit Lookup in EW (V3)", paged by 2,000 rows. Figures are under the Open
    Government Licence v.3.0: see `areas.ATTRIBUTION`.
    """
    if level_of(district) != "LAD":
        raise VoicePrivacyError(
            f"{district!r} is no district of England or Wales: {explain_codes([district])}. "
            "A district code begins with E06, E07, E08, E09 or W06."
        )
    out = Path(out)
    client = _Client(attempts, wait, timeout)
    bar = tqdm(total=len(_TABLES) + 1, unit="file", disable=not progress)
    paths = [out / f"lookup-oa21-{district}.csv"]
    with bar:
        if not paths[0].exists():
            bar.set_description("lookup")
            _write(paths[0], _lookup_rows(client, lookup_url, district))
        bar.update()
        areas = _areas_of(paths[0])
        for table, level, dataset, dimensions in _TABLES:
            path = out / f"nomis-{table}-{level}-{district}.csv"
            bar.set_description(table)
            if not path.exists():
                wanted = areas if level == "oa" else {district}
                place = f"{district}TYPE150" if level == "oa" else district
                url = f"{nomis_url}/{dataset}.data.csv?" + _query(place, dimensions)
                _write(path, _table_rows(client, url, wanted))
            bar.update()
            paths.append(path)
    return paths


def _query(place: str, dimensions: tuple[str, ...]) -> str:
    columns = ["geography_code", "geography_name"]
    for dimension in dimensions:
        columns += [dimension, f"{dimension}_name"]
    select = ",".join([*columns, "obs_value", "record_count"])
    return f"date=latest&geography={place}&measures=20100&select={select}&RecordLimit={PAGE}"


def _write(path: Path, rows: list[list[str]]) -> None:
    with (
        written_whole(path) as temporary,
        temporary.open("w", newline="", encoding="utf-8") as file,
    ):
        csv.writer(file, lineterminator="\n").writerows(rows)


def _areas_of(path: Path) -> set[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return {row["OA21CD"] for row in csv.DictReader(file)}


def _table_rows(client: "_Client", url: str, wanted: set[str]) -> list[list[str]]:
    """Return the heading and all rows of a Nomis query, over as many pages as it takes."""
    rows: list[list[str]] = []
    while True:
        page = client.get(f"{url}&RecordOffset={len(rows)}", _nomis_page(url, len(rows)))
        heading, announced = page[0], int(page[1][page[0].index("RECORD_COUNT")])
        rows += page[1:]
        if len(rows) >= announced:
            break
    found = {row[heading.index("GEOGRAPHY_CODE")] for row in rows}
    if found != wanted:
        strange = sorted(found - wanted)
        raise VoicePrivacyError(
            f"{url} answered for {len(found)} areas, but the lookup has {len(wanted)}; "
            f"{len(wanted - found)} are missing"
            + (f" and there are {explain_codes(strange)}." if strange else ".")
        )
    return [heading, *rows]


def _nomis_page(url: str, before: int) -> Callable[[bytes], list[list[str]]]:
    def read(body: bytes) -> list[list[str]]:
        text = body.decode("utf-8-sig", errors="replace")
        if text.lstrip().startswith("<"):
            raise PassingFault("the answer is a web page, not a table")
        rows = [row for row in csv.reader(io.StringIO(text)) if row]
        if not rows or "RECORD_COUNT" not in rows[0]:
            raise PassingFault("the answer is no table")
        if len(rows) == 1:
            raise VoicePrivacyError(
                f"{url} answered with a heading but no rows: Nomis knows no such area or table."
            )
        announced = int(rows[1][rows[0].index("RECORD_COUNT")])
        expected = min(PAGE, announced - before)
        if len(rows) - 1 != expected:
            raise PassingFault(f"{len(rows) - 1} rows came where {expected} were announced")
        return rows

    return read


def _lookup_rows(client: "_Client", url: str, district: str) -> list[list[str]]:
    """Return the heading and the rows of the lookup for one district."""
    base = {"where": f"LAD22CD='{district}'", "f": "json", "returnGeometry": "false"}
    count = client.get(_with(url, base | {"returnCountOnly": "true"}), _json)["count"]
    if not count:
        raise VoicePrivacyError(
            f"the lookup of 2022 has no district {district!r}: {explain_codes([district])}."
        )
    rows: list[list[str]] = []
    fields = {"outFields": ",".join(_LOOKUP_FIELDS), "orderByFields": "OA21CD"}
    while len(rows) < count:
        page = {"resultOffset": str(len(rows)), "resultRecordCount": str(LOOKUP_PAGE)}
        expected = min(LOOKUP_PAGE, count - len(rows))
        rows += client.get(_with(url, base | fields | page), _lookup_page(expected))
    return [list(_LOOKUP_FIELDS), *rows]


def _with(url: str, parameters: dict[str, str]) -> str:
    return f"{url}?{urllib.parse.urlencode(parameters)}"


def _json(body: bytes) -> dict:
    try:
        answer = json.loads(body)
    except ValueError:
        raise PassingFault("the answer is not JSON") from None
    if "error" in answer:
        raise PassingFault(f"the server reports {answer['error'].get('message')!r}")
    return answer


def _lookup_page(expected: int) -> Callable[[bytes], list[list[str]]]:
    def read(body: bytes) -> list[list[str]]:
        features = _json(body).get("features", [])
        if len(features) != expected:
            raise PassingFault(f"{len(features)} rows came where {expected} were announced")
        return [[feature["attributes"][name] for name in _LOOKUP_FIELDS] for feature in features]

    return read


class _Client:
    """GET in bounded attempts: broken connections, busy servers, faulty answers are retried."""

    def __init__(self, attempts: int, wait: float, timeout: float) -> None:
        self.attempts, self.wait, self.timeout = attempts, wait, timeout

    def get(self, url: str, read: Callable[[bytes], Answer]) -> Answer:
        return retried(lambda: read(self._body(url)), url, self.attempts, self.wait)

    def _body(self, url: str) -> bytes:
        try:
            with opened(url, self.timeout) as response, faults_that_pass():
                return response.read()
        except urllib.error.HTTPError as error:
            raise VoicePrivacyError(
                f"{url} was refused with {error.code} {error.reason}: the server does not know "
                "this query. Check the district code and the addresses."
            ) from error

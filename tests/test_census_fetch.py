"""Downloads against a server on this machine that behaves like Nomis and ArcGIS, also badly."""

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest
from census_files import DISTRICT, OAS, api, lookup, tables, write_district
from click.testing import CliRunner

from voiceprivacy.census import download, fetch, read_output_areas
from voiceprivacy.cli import main
from voiceprivacy.errors import VoicePrivacyError

DATASETS = {
    "NM_2021_1": ("ts001", ["c2021_restype_3"]),
    "NM_2022_1": ("ts002", ["c2021_lpstat_12"]),
    "NM_2020_1": ("ts007a", ["c2021_age_19"]),
    "NM_2028_1": ("ts008", ["c_sex"]),
    "NM_2029_1": ("ts009", ["c_sex", "c2021_age_92"]),
    "NM_2037_1": ("ts017", ["c2021_hhsize_10"]),
}


class Server(ThreadingHTTPServer):
    """Serves the made-up district; `spoil` maps a table or "lookup" to what its answers suffer."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = Counter()
        self.queries = []
        self.spoil = {}

    @property
    def urls(self):
        root = f"http://127.0.0.1:{self.server_port}"
        return {"nomis_url": f"{root}/dataset", "lookup_url": f"{root}/lookup/query"}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path.endswith("/query"):
            what, body = "lookup", self.lookup(query)
        else:
            what, dimensions = DATASETS[parts.path.split("/")[-1].removesuffix(".data.csv")]
            body = self.table(what, dimensions, query)
        self.server.asked[what] += 1
        self.server.queries.append((what, query))
        spoil = self.server.spoil.get(what)
        status, body, length = 200, body.encode(), None
        if spoil:
            status, body, length = spoil(self.server.asked[what], body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def lookup(self, query):
        rows = lookup()
        rows = rows[rows["LAD22CD"] == query["where"].split("'")[1]]
        if query.get("returnCountOnly") == "true":
            return json.dumps({"count": len(rows)})
        start, size = int(query["resultOffset"]), int(query["resultRecordCount"])
        chosen = rows.iloc[start : start + size][query["outFields"].split(",")]
        return json.dumps({"features": [{"attributes": row} for row in chosen.to_dict("records")]})

    def table(self, what, dimensions, query):
        code = query["geography"]
        assert code == (DISTRICT if what == "ts009" else f"{DISTRICT}TYPE150")
        assert set(dimensions) < set(query["select"].split(","))
        lines = api(tables()[what], dimensions).splitlines(keepends=True)
        start, size = int(query["RecordOffset"]), int(query["RecordLimit"])
        return "".join([lines[0], *lines[1 + start : 1 + start + size]])


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield running
        running.shutdown()


def run(server, out, **options):
    """Download without waiting."""
    return fetch(DISTRICT, out, **{**server.urls, "wait": 0.0, "attempts": 3, **options})


def test_what_is_downloaded_loads(server, tmp_path):
    paths = run(server, tmp_path / "new" / "folder")
    assert [path.name.split("-")[1] for path in paths[1:]] == [
        "ts001", "ts002", "ts007a", "ts008", "ts009", "ts017"
    ]  # fmt: skip
    areas = read_output_areas(paths[0].parent)
    plain = read_output_areas(write_district(tmp_path / "plain"))
    pd.testing.assert_frame_equal(areas.adults, plain.adults)
    pd.testing.assert_frame_equal(areas.households, plain.households)
    assert server.asked == {"lookup": 2, **dict.fromkeys((t for t, _ in DATASETS.values()), 1)}


def test_long_tables_come_in_pages(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "PAGE", 25)
    monkeypatch.setattr(download, "LOOKUP_PAGE", 3)
    paths = run(server, tmp_path)
    assert server.asked["ts007a"] == 4  # 4 areas of 19 cells
    assert server.asked["lookup"] == 3
    asked = [query["RecordOffset"] for what, query in server.queries if what == "ts007a"]
    assert asked == ["0", "25", "50", "75"]
    assert len(read_output_areas(tmp_path)) == 4
    assert len(paths[3].read_text().splitlines()) == 1 + 4 * 19


def failing(times, *, status=503, body=b"busy", length=None):
    """Spoil the first answers."""

    def spoil(asked, whole):
        return (status, body, length) if asked <= times else (200, whole, None)

    return spoil


@pytest.mark.parametrize("what", ["lookup", "ts008"])
@pytest.mark.parametrize(
    "fault",
    [
        failing(2),
        failing(2, status=429),
        failing(2, status=200, body=b"<!DOCTYPE html><p>Too many requests"),
        failing(2, status=200, body=b"GEOGRAPHY_CODE,OBS", length=5000),
        failing(2, status=200, body=b""),
    ],
    ids=["503", "429", "web page", "cut body", "empty"],
)
def test_faults_that_pass_are_tried_again(server, tmp_path, what, fault):
    server.spoil[what] = fault
    assert len(run(server, tmp_path)) == 7
    assert len(read_output_areas(tmp_path)) == 4


def test_attempts_are_bounded_and_the_wait_doubles(server, tmp_path, monkeypatch):
    waits = []
    monkeypatch.setattr("time.sleep", waits.append)
    server.spoil["ts001"] = failing(99)
    with pytest.raises(VoicePrivacyError, match=r"NM_2021_1.*failed 4 times.*503.*is kept"):
        run(server, tmp_path, attempts=4, wait=2.0)
    assert server.asked["ts001"] == 4
    assert waits == [2, 4, 8]


def test_a_busy_arcgis_says_so_with_status_200(server, tmp_path):
    server.spoil["lookup"] = failing(9, status=200, body=b'{"error": {"message": "Wait a bit"}}')
    with pytest.raises(VoicePrivacyError, match="server reports 'Wait a bit'"):
        run(server, tmp_path)


def test_lookup_rows_that_are_missing(server, tmp_path):
    def spoil(asked, body):
        answer = json.loads(body)
        answer.get("features", [])[2:] = []
        return 200, json.dumps(answer).encode(), None

    server.spoil["lookup"] = spoil
    with pytest.raises(VoicePrivacyError, match="2 rows came where 4 were announced"):
        run(server, tmp_path)


def test_web_pages_to_the_end(server, tmp_path):
    server.spoil["ts001"] = failing(9, status=200, body=b"\n<html>Too many requests")
    with pytest.raises(VoicePrivacyError, match=r"failed 3 times.*is a web page, not a table"):
        run(server, tmp_path)


def test_a_refused_query_is_not_repeated(server, tmp_path):
    server.spoil["ts001"] = failing(9, status=404)
    with pytest.raises(VoicePrivacyError, match="refused with 404"):
        run(server, tmp_path)
    assert server.asked["ts001"] == 1


def test_a_heading_without_rows(server, tmp_path):
    server.spoil["ts002"] = lambda asked, body: (200, body.splitlines()[0], None)
    with pytest.raises(VoicePrivacyError, match="a heading but no rows: Nomis knows no such area"):
        run(server, tmp_path)
    assert server.asked["ts002"] == 1


def test_rows_that_are_missing(server, tmp_path):
    server.spoil["ts008"] = lambda asked, body: (200, b"\n".join(body.splitlines()[:-2]), None)
    with pytest.raises(VoicePrivacyError, match="10 rows came where 12 were announced"):
        run(server, tmp_path)
    assert server.asked["ts008"] == 3


def test_areas_that_are_missing_though_no_row_is(server, tmp_path):
    replaced = OAS[0].encode(), b"E00999999"
    server.spoil["ts017"] = lambda asked, body: (200, body.replace(*replaced), None)
    said = r"4 areas, but the lookup has 4; 1 are missing.*1 OA code of 2021.*'E00999999'"
    with pytest.raises(VoicePrivacyError, match=said):
        run(server, tmp_path)
    assert not list(tmp_path.glob("*ts017*"))


def test_an_interrupted_download_goes_on_where_it_was(server, tmp_path):
    server.spoil["ts009"] = failing(99)
    with pytest.raises(VoicePrivacyError, match="run the same command again"):
        run(server, tmp_path)
    done = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(done) == 5
    server.spoil.clear()
    server.asked.clear()
    run(server, tmp_path)
    assert server.asked == {"ts009": 1, "ts017": 1}
    assert all((tmp_path / name).stat().st_mtime_ns == when for name, when in done.items())
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("S12000036", "1 code of Scotland, which has its own census"),
        ("N09000003", "1 code of Northern Ireland"),
        ("E02002863", "1 MSOA code of 2011"),
        ("Rutland", "a name in its place"),
        ("e06000017", "in the wrong case"),
    ],
)
def test_only_districts_of_england_and_wales(server, tmp_path, code, said):
    with pytest.raises(VoicePrivacyError, match=f"no district of England or Wales: .*{said}"):
        fetch(code, tmp_path, **server.urls)
    assert not server.asked


def test_a_district_that_the_lookup_does_not_have(server, tmp_path):
    with pytest.raises(VoicePrivacyError, match=r"no district 'E07000097'.*now E07000242"):
        fetch("E07000097", tmp_path, **server.urls)


def test_command(server, tmp_path):
    addresses = [f"--{name.replace('_', '-')}={url}" for name, url in server.urls.items()]
    command = ["census", "fetch", DISTRICT, "--out", str(tmp_path), *addresses]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert f"{tmp_path}: 4 output areas of {DISTRICT}." in result.output


def test_command_refuses_scotland_in_one_line(tmp_path):
    result = CliRunner().invoke(main, ["census", "fetch", "S12000036", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert result.output.startswith("Error: 'S12000036' is no district of England or Wales")


@pytest.mark.network
def test_rutland_from_the_real_servers(tmp_path):
    fetch(DISTRICT, tmp_path)
    areas = read_output_areas(tmp_path)
    assert len(areas) == 128
    assert areas.lookup.nunique().tolist() == [26, 5, 1]
    assert areas.adults.to_numpy().sum() == pytest.approx(34304, rel=0.005)

"""A headless Chromium, and what it complains of and asks the network for."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

# pydata-sphinx-theme says this of its own default theme mode; harmless.
KNOWN_COMPLAINT = "invalid theme mode"


@contextmanager
def chromium(folder: Path, *more: str) -> Iterator:
    """A headless Chromium that keeps its console and network logs, or a skip with the reason.

    `folder` is its own; `more` are further flags.
    """
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    if missing := [name for name, path in programs.items() if not path]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    flags = "headless no-sandbox disable-gpu disable-dev-shm-usage no-first-run"
    quiet = "disable-background-networking disable-component-update disable-sync disable-extensions"
    for flag in (*f"{flags} {quiet}".split(), *more):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={folder}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(programs["chromedriver"])
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


def open_page(browser, page: Path):
    """Open a page from disk and wait for its formulas."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(page.as_uri())
    wait = WebDriverWait(browser, 20)
    wait.until(lambda driver: driver.execute_script("return document.readyState") == "complete")
    if 'class="math' in page.read_text(encoding="utf-8"):
        drawn = "return document.querySelectorAll('mjx-container mjx-math').length"
        wait.until(lambda driver: driver.execute_script(drawn) > 0)


def outside_requests(browser):
    """The addresses asked for since the last look, but for files and the browser's own pages."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert asked, "the browser logged no request at all"
    return [url for url in asked if not url.startswith(("file:", "data:", "blob:", "chrome"))]


def complaints(browser):
    return [
        entry["message"]
        for entry in browser.get_log("browser")
        if entry["level"] == "SEVERE" and KNOWN_COMPLAINT not in entry["message"]
    ]

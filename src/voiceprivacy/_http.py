"""HTTP requests, made again after faults that may pass."""

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import urlsplit

from voiceprivacy.errors import VoicePrivacyError

LONGEST_WAIT = 300.0

Answer = TypeVar("Answer")


class PassingFault(Exception):
    """A fault that may pass, so the request is made again."""


class _OnlyHttp(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https only; urllib's own would go to ftp too."""

    def redirect_request(self, request, file, code, message, headers, url):
        if not is_http(url):
            raise VoicePrivacyError(
                f"{request.full_url} redirects to {url}, which is neither http nor https; "
                "nothing was taken from there. Check the address."
            )
        return super().redirect_request(request, file, code, message, headers, url)


_OPENER = urllib.request.build_opener(_OnlyHttp)


def is_http(url: str) -> bool:
    """Tell whether an address is one of http or https."""
    return urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).netloc)


@contextmanager
def faults_that_pass() -> Iterator[None]:
    """Turn broken connections, stalls and busy servers into `PassingFault`.

    Only for what talks to the server: a full disk is an OSError too. Other refusals, such as
    404, are left as `urllib.error.HTTPError`.
    """
    try:
        yield
    except urllib.error.HTTPError as error:
        if error.code < 500 and error.code not in (408, 429):
            raise
        error.close()
        raise PassingFault(f"{error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise PassingFault(f"{getattr(error, 'reason', error) or type(error).__name__}") from error


@contextmanager
def opened(
    url: str, timeout: float, headers: Mapping[str, str] | None = None
) -> Iterator[http.client.HTTPResponse]:
    """Yield the answer to a GET; `timeout` seconds without a byte are a fault."""
    # Without "identity" a server may pack the answer, and its length is another one's.
    asked = {"User-Agent": "voiceprivacy", "Accept-Encoding": "identity", **(headers or {})}
    with faults_that_pass():
        response = _OPENER.open(urllib.request.Request(url, headers=asked), timeout=timeout)
    with response:
        yield response


def retried(
    request: Callable[[], Answer],
    url: str,
    attempts: int,
    wait: float,
    position: Callable[[], int] = lambda: 0,
) -> Answer:
    """Return what `request` returns, calling it again after each `PassingFault`.

    Parameters
    ----------
    url
        What is requested, for the message.
    attempts
        How often it may fail in a row. Only failures that bring `position` no further than it
        ever was are in a row: a long download may break often, but not at one place.
    wait
        Seconds before the second attempt; doubled before each further one, to five minutes.

    Raises
    ------
    VoicePrivacyError
        If it fails to the end.
    """
    furthest, failures = position(), 0
    while True:
        try:
            return request()
        except PassingFault as fault:
            failures = 1 if position() > furthest else failures + 1
            furthest = max(furthest, position())
            if failures >= attempts:
                raise VoicePrivacyError(
                    f"{url} failed {attempts} times, the last time because: {fault}. What has "
                    "come is kept; run the same command again later."
                ) from fault
        time.sleep(min(wait * 2 ** (failures - 1), LONGEST_WAIT))

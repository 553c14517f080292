"""A picture inside a page: small, sharp, and described for readers who do not see it."""

import base64
import html
import io
from typing import BinaryIO

from PIL import Image

from voiceprivacy.errors import VoicePrivacyError

RESOLUTION = 1.5  # drawn finer than shown, for sharp screens and print


def checked_alt(alt: str) -> str:
    """Return what a figure shows, in words, on one line.

    Raises
    ------
    VoicePrivacyError
        If there are no words.

    Examples
    --------
    >>> checked_alt(" Isolation falls\\n with N. ")
    'Isolation falls with N.'
    """
    if not alt.strip():
        raise VoicePrivacyError("alt=...: say in a sentence what the figure shows.")
    return " ".join(alt.split())


def image_element(png: bytes, alt: str) -> str:
    """Return an HTML element that holds a PNG drawn at `RESOLUTION`."""
    data = base64.b64encode(png).decode()
    return (
        f'<img alt="{html.escape(alt)}" src="data:image/png;base64,{data}" '
        f'width="{_width(png) / RESOLUTION:.0f}" style="max-width: 100%; height: auto;">'
    )


def few_colours(png: BinaryIO) -> bytes:
    """Return a PNG of few colours: a third of the size, since pages carry it inside."""
    stored = io.BytesIO()
    image = Image.open(png).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    image.save(stored, "png", optimize=True)
    return stored.getvalue()


def _width(png: bytes) -> int:
    """Width in pixels, from the header (PNG specification, section 11.2.2)."""
    return int.from_bytes(png[16:20])

"""Census 2021 output areas of England and Wales: official tables, or the shipped model."""

from voiceprivacy.census.areas import OutputAreas, read_output_areas
from voiceprivacy.census.codes import explain_codes
from voiceprivacy.census.default import default_output_areas, model_output_areas
from voiceprivacy.census.download import fetch

__all__ = [
    "OutputAreas",
    "default_output_areas",
    "explain_codes",
    "fetch",
    "model_output_areas",
    "read_output_areas",
]

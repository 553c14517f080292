"""Census 2021 output areas of England and Wales: official tables, or the shipped model."""

from voiceprivacy.census.areas import OutputAreas, read_output_areas
from voiceprivacy.census.codes import explain_codes

__all__ = ["OutputAreas", "explain_codes", "read_output_areas"]

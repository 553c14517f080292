"""Voice privacy, reproduced and measured.

See the book for the whole story; each module's docstring says what it is for.
"""

from importlib import import_module

__version__ = "0.1.0"

# What the evaluation framework's documentation imports from the top; loaded when asked for.
_PLACES = {
    "BaseAnonymizer": "anonymizers",
    "LegalEvaluator": "evaluation",
    "LinkabilityMetric": "metrics",
    "SinglingOutMetric": "metrics",
    "run_evaluation": "evaluation",
}


def __getattr__(name: str):
    if name not in _PLACES:
        raise AttributeError(f"module 'voiceprivacy' has no attribute {name!r}")
    return getattr(import_module(f"voiceprivacy.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES])

"""Other packages' progress bars, kept from warning notebooks of widgets that nothing here uses."""

import warnings


def quiet_bars() -> None:
    """Import tqdm's bar for notebooks before others do: it warns once, at its first import."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "IProgress not found")
        import tqdm.auto  # noqa: F401

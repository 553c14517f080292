"""Finished parts are read back, and never mixed with another run's."""

import numpy as np
import pytest

from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.parts import Parts


def test_a_part_is_computed_once(tmp_path):
    calls = []

    def compute():
        calls.append(1)
        return {"x": np.arange(3), "flag": np.array([True])}

    for _ in range(2):
        part = Parts(tmp_path, {"n": 1}, [np.ones(2)]).get("a", compute)
        assert part["x"].tolist() == [0, 1, 2]
        assert part["flag"].dtype == bool
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("settings", "data", "named"),
    [({"n": 2}, [1.0, 2.0], "n"), ({"n": 1}, [1.0, 3.0], "data")],
)
def test_parts_of_another_run_are_refused(tmp_path, settings, data, named):
    Parts(tmp_path, {"n": 1}, [np.array([1.0, 2.0])])
    with pytest.raises(VoicePrivacyError, match=rf"different: {named}\); give a new folder"):
        Parts(tmp_path, settings, [np.array(data)])


def test_a_damaged_note_of_settings_is_named(tmp_path):
    (tmp_path / "settings.json").write_text("")
    with pytest.raises(VoicePrivacyError, match=r"settings.json is damaged; delete its folder"):
        Parts(tmp_path, {"n": 1}, [])

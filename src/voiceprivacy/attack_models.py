"""The attackers of V25, and what each of them needs.

An attacker is an extractor, what that was trained on, and what the attacker does to the enrolment.

=================  ===============================  ==========================================
here and in V25    VoicePrivacy Challenge           side-information paper
=================  ===============================  ==========================================
ignorant           ignorant (oa)                    ignorant
lazy_informed      lazy-informed (aa, original)     not there; not in V25 either
semi_informed      not there                        not there
informed           semi-informed (aa, anonymized)   semi-informed
=================  ===============================  ==========================================
"""

from dataclasses import dataclass

from voiceprivacy.errors import VoicePrivacyError

ORIGINAL, SIMILAR, SAME = "original speech", "a similar system's output", "the same system's output"


@dataclass(frozen=True)
class AttackModel:
    """One of the attackers.

    Parameters
    ----------
    name
        As in a configuration.
    trained_on
        What the extractor has learned from.
    enrolment
        What the attacker makes of the enrolment speech before comparing.
    anonymized
        Whether the released speech is; the original is the reference.
    """

    name: str
    trained_on: str
    enrolment: str
    anonymized: bool = True

    @property
    def title(self) -> str:
        """The name as figures have it."""
        return self.name.replace("_", "-")


MODELS = {
    model.name: model
    for model in (
        AttackModel("original", ORIGINAL, ORIGINAL, anonymized=False),
        AttackModel("ignorant", ORIGINAL, ORIGINAL),
        AttackModel("lazy_informed", ORIGINAL, SAME),
        AttackModel("semi_informed", SIMILAR, SIMILAR),
        AttackModel("informed", SAME, SAME),
    )
}


def attack_model(name: str) -> AttackModel:
    """Return the attacker of a name, written with - or _.

    Raises
    ------
    VoicePrivacyError
        If there is none.

    Examples
    --------
    >>> attack_model("semi-informed").trained_on
    "a similar system's output"
    """
    model = MODELS.get(str(name).replace("-", "_"))
    if model is None:
        raise VoicePrivacyError(f"attack model {name!r}; expected one of {', '.join(MODELS)}.")
    return model

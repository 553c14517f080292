"""A stranger's enrolment is a stranger's, and isolates at chance."""

import numpy as np
import pytest

from voiceprivacy.controls import enrol_strangers
from voiceprivacy.embeddings import Embeddings
from voiceprivacy.errors import VoicePrivacyError
from voiceprivacy.simulation import SpeakerModel, simulate, simulated_speakers
from voiceprivacy.singling_out import isolate

NOISY = SpeakerModel(d=64, w=1.5, b=0, h=0, c=0, u=0)


@pytest.fixture(scope="module")
def voices():
    people = simulated_speakers(n_female=120, n_male=121)
    return simulate(NOISY, people, targets=people["speaker"][:-1], utterances_b=3)


def test_nobody_enrols_who_is_in_the_pool(voices):
    pool, enrolment = enrol_strangers(*voices, seed=3)
    really = dict(zip(voices.enrolment.utterances, voices.enrolment.speakers, strict=True))
    strangers = {really[u] for u in enrolment.utterances}
    assert len(strangers) == 120
    assert not strangers & set(pool.speakers)
    assert set(enrolment.speakers) <= set(pool.speakers)
    assert set(pool.speakers) | strangers == set(voices.pool.speakers)
    assert (np.unique(enrolment.speakers, return_counts=True)[1] == 3).all()
    own = voices.enrolment.matrix[np.isin(voices.enrolment.utterances, enrolment.utterances)]
    assert np.array_equal(own, enrolment.matrix)


def test_the_order_of_rows_does_not_matter(voices):
    turned = Embeddings(*(getattr(voices.enrolment, f)[::-1] for f in voices.enrolment.__dict__))
    straight, other = (enrol_strangers(voices.pool, e)[1] for e in (voices.enrolment, turned))
    assert dict(zip(straight.utterances, straight.speakers, strict=True)) == dict(
        zip(other.utterances, other.speakers, strict=True)
    )


def test_strangers_isolate_at_chance_where_owners_isolate_well(voices):
    own = isolate(*voices, sizes=[60], targets="all").summary().iloc[0]
    strange = isolate(*enrol_strangers(*voices), sizes=[60], targets="all").summary().iloc[0]
    assert own.observed > own.reference + 0.2
    assert abs(strange.observed - strange.chance) < 0.06


def test_one_speaker_has_no_stranger(voices):
    one = voices.pool.speakers[0]
    with pytest.raises(VoicePrivacyError, match="1 speakers are both"):
        enrol_strangers(voices.pool, voices.enrolment.of_speakers([one]))

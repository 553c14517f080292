"""The labels that keep kinds of evidence apart; every figure and table carries one."""

from collections.abc import Collection

from voiceprivacy.errors import VoicePrivacyError, listed

EVIDENCE = {
    "published": "published",
    "simulated": "simulated embeddings",
    "speech": "speech: ",
    "calculation": "calculation",
}
# Speech is judged by a paper's numbers only if it is that paper's own.
PAPER_CORPUS = {
    "SI": "Common Voice 11",
    "SRC": "VoicePrivacy Attacker Challenge 2024",
    "V25": "Common Voice 11",
}


def evidence_of(source: str, *, corpus: str | None = None) -> str:
    """Return the evidence label of a kind of data.

    Parameters
    ----------
    source
        ``"simulated"``, ``"speech"``, ``"published"``, or ``"calculation"`` for what follows
        from a formula or from counts alone.
    corpus
        The name of the corpus of ``"speech"``.

    Raises
    ------
    VoicePrivacyError
        If the source is unknown, or speech comes without its corpus.

    Examples
    --------
    >>> evidence_of("simulated")
    'simulated embeddings'
    >>> evidence_of("speech", corpus="LibriSpeech train-clean-100")
    'speech: LibriSpeech train-clean-100'
    """
    if source not in EVIDENCE:
        raise VoicePrivacyError(f"evidence {source!r}; expected one of {listed(EVIDENCE)}.")
    if (source == "speech") != bool(corpus):
        raise VoicePrivacyError(
            f"evidence {source!r} with corpus={corpus!r}: speech names its corpus, "
            "and only speech does."
        )
    return EVIDENCE[source] + (corpus or "")


def named_evidence(corpus: str) -> str:
    """Return the label of what a user names: a corpus of speech, or ``"simulated"``.

    Examples
    --------
    >>> named_evidence("simulated"), named_evidence("LibriSpeech")
    ('simulated embeddings', 'speech: LibriSpeech')
    """
    if corpus == "simulated":
        return evidence_of("simulated")
    return evidence_of("speech", corpus=corpus)


def checked_evidence(label: str) -> str:
    """Return `label` if `evidence_of` makes such labels.

    Raises
    ------
    VoicePrivacyError
        If it does not: labels are not typed by hand.

    Examples
    --------
    >>> checked_evidence("speech: LibriSpeech")
    'speech: LibriSpeech'
    """
    speech = EVIDENCE["speech"]
    plain = [text for text in EVIDENCE.values() if text != speech]
    if label not in plain and not (label.startswith(speech) and label[len(speech) :].strip()):
        raise VoicePrivacyError(
            f"{label!r} is no evidence label; take one from evidence_of(source, corpus=...)."
        )
    return label


def evidence_words(labels: Collection[str]) -> str:
    """Return what stands below a figure with these labels, the weightiest first.

    Raises
    ------
    VoicePrivacyError
        If a label was typed by hand, or there is none.

    Examples
    --------
    >>> evidence_words(["simulated embeddings", "published"])
    'Evidence: simulated embeddings; hollow grey: published'
    """
    if not labels:
        raise VoicePrivacyError("the figure needs a label from evidence_of(source).")
    words = [
        "hollow grey: published" if len(labels) > 1 and label == "published" else label
        for label in map(checked_evidence, dict.fromkeys(labels))
    ]
    return "Evidence: " + "; ".join(words)


def is_stand_in(label: str, paper: str) -> bool:
    """Whether `label` names speech of another corpus than the paper's.

    Examples
    --------
    >>> is_stand_in("speech: LibriSpeech", "SI"), is_stand_in("simulated embeddings", "SI")
    (True, False)
    """
    speech = EVIDENCE["speech"]
    return label.startswith(speech) and not label.startswith(speech + PAPER_CORPUS[paper])

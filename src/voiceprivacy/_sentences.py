"""English sentences from a small seeded grammar, so that a spoken corpus needs no licence."""

import numpy as np

# eSpeak NG runs "on the", "in the" and their like together into one word event, in some accents
# only; so no preposition here is followed by "the".
PHRASES = {
    "when": "yesterday today tonight sometimes often usually lately again",
    "count": "seven many three several twelve most nine both some eleven few those these",
    "kind": "brown quiet heavy yellow careful young broken silver distant clever frozen gentle "
    "narrow hungry purple ancient cheerful wooden modern tiny",
    "who": "farmers teachers rivers horses doctors children painters neighbours soldiers dragons "
    "bakers lawyers visitors monkeys sailors engineers judges singers pilots cousins",
    "do": "carry follow measure forget borrow watch gather repair choose remember paint "
    "describe visit change protect discover welcome deliver sharpen avoid",
    "whose": "their our my your her his every another",
    "what": "bridge letter garden machine window ticket blanket orange hammer picture lantern "
    "village chicken journal question mountain shadow jacket theatre kitchen",
    "where": "behind under beside near above against without before after around",
    "how": "slowly gladly together twice early quickly badly alone outside carefully",
}
WORDS = {slot: words.split() for slot, words in PHRASES.items()}
CORE = ("count", "kind", "who", "do", "whose", "kind", "what")


def sentence(rng: np.random.Generator) -> list[str]:
    """Return the words of a sentence, 8 to 13 of them.

    Examples
    --------
    >>> " ".join(sentence(np.random.default_rng(1)))
    'eleven tiny farmers measure every modern window near every distant ticket outside'
    """
    opening = ["when"] * rng.integers(2)
    place = ["where", "whose", "kind", "what"] * rng.integers(2)
    return [str(rng.choice(WORDS[slot])) for slot in (*opening, *CORE, *place, "how")]

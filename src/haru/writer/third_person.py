"""Third person: "I live in Denver" becomes "The user lives in Denver". English. Pure.

Only words of a closed list are exchanged or inflected; everything else stays as it was said.
"""

from __future__ import annotations

import re

_WHOLE = {
    "i'm": "the user is", "i am": "the user is", "i've": "the user has", "i have": "the user has",
    "i'll": "the user will", "i will": "the user will", "i'd": "the user would", "i was": "the user was",
    "i don't": "the user does not", "i do not": "the user does not", "i didn't": "the user did not",
    "i can't": "the user can't", "i cannot": "the user cannot", "i can": "the user can",
    "i won't": "the user will not", "i haven't": "the user has not", "i'm not": "the user is not",
    "we're": "the user is", "we are": "the user is", "we've": "the user has", "we have": "the user has",
    "we'll": "the user will", "we will": "the user will", "we were": "the user was",
    "we don't": "the user does not", "we do not": "the user does not", "we didn't": "the user did not",
    "we can't": "the user can't", "we won't": "the user will not", "we haven't": "the user has not",
}  # fmt: skip
_POSSESSIVE = {"my": "the user's", "our": "the user's", "mine": "the user's", "ours": "the user's"}
_OBJECT = {"me": "the user", "us": "the user", "myself": "themselves", "ourselves": "themselves"}
_ADVERBS = (
    "also|really|always|usually|often|just|never|now|currently|still|absolutely|both|all|finally|mostly|actually"
    "|no longer"
)
_SUBJECT = re.compile(
    rf"\b(?P<whole>(?:I|we)(?:['’](?:m|ve|ll|d|re)\b(?: not\b)?| (?:am|have|will|was|are|were|can(?:not)?|do not|"
    rf"(?:do|did|ca|wo|have)n['’]t)\b))|\b(?:I|we) (?P<adverb>(?:(?:{_ADVERBS}) )?)(?P<verb>[a-z]+)\b",
    re.IGNORECASE,
)
_CALLED = re.compile(r"^(?:you can )?call me (?P<name>\S.*)$", re.IGNORECASE)
_OTHERS = re.compile(r"\b(my|our|mine|ours|me|us|myself|ourselves)\b", re.IGNORECASE)
_AS_THEY_ARE = frozenset(
    """
    had went came met bought got made took gave said told found lost left began became broke built chose drank drove
    ate fell felt flew forgot grew heard kept knew led lent meant paid put ran read rode rose sang sat saw sent set
    quit let hit hurt cut beat shut split spread bet cost swam sold hung hid froze dug drew
    is are was were am been shot slept spoke spent stood taught thought threw understood woke wore won
    wrote could should might must would
    """.split()  # noqa: SIM905 - a page of words reads better than a page of quotes
)


def third_person(clause: str) -> str:
    """A first-person clause as a sentence about the user, ending in a full stop."""
    if called := _CALLED.match(clause):
        clause = f"I am called {called['name']}"
    told = _OTHERS.sub(_other, _SUBJECT.sub(_subject, clause.strip(" ,;.!")))
    return f"{told[:1].upper()}{told[1:]}."


def _subject(match: re.Match[str]) -> str:
    if match["whole"]:
        return _WHOLE[match["whole"].lower().replace("’", "'")]
    return f"the user {match['adverb']}{inflected(match['verb'])}"


def _other(match: re.Match[str]) -> str:
    word = match[1].lower()
    return _POSSESSIVE.get(word) or _OBJECT[word]


def inflected(verb: str) -> str:
    """The third person of a verb in the present; other forms as they are."""
    plain = verb.lower()
    if plain in _AS_THEY_ARE or (plain.endswith("ed") and not plain.endswith("eed")):
        return plain
    if plain in {"have", "do", "go", "be"}:
        return {"have": "has", "do": "does", "go": "goes", "be": "is"}[plain]
    if re.search(r"(?:s|x|z|ch|sh)$", plain):
        return plain + "es"
    if re.search(r"[^aeiou]y$", plain):
        return plain[:-1] + "ies"
    return plain + "s"

"""Statements: which first-person clauses say something lasting, and what sort of thing. English. Pure.

Conservative on purpose: what is asked, supposed, quoted, joked, or true only for the moment is passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from haru.memory import Kind

_FAMILY = (
    "wife|husband|partner|spouse|fianc[eé]e?|girlfriend|boyfriend|mother|mom|mum|father|dad|son|daughter|kid|child|baby"
    "|sister|brother|grandmother|grandma|grandfather|grandpa|aunt|uncle|niece|nephew|cousin|twin"
)
_OTHERS = "friend|best friend|neighbou?r|coworker|colleague|boss|doctor|dentist|teacher|barber|landlord|roommate"
_PETS = "dog|puppy|cat|kitten|hamster|rabbit|bird|parrot|horse|fish|tortoise|turtle"
_OWN = r"(?:my|our)"
_WHO = rf"(?:(?:{_FAMILY}|{_OTHERS}|{_PETS})s?)"

_QUESTION = re.compile(
    r"\?|^(?:who|what|when|where|why|which|how|is|are|was|were|do|does|did|can|could|will|would|should|shall|have|has)\b",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:if|unless|would|wouldn['’]t|could|might|maybe|perhaps|wish|hope|suppose|imagine|pretend|probably|guess|"
    r"i think|i['’]d|we['’]d|thinking (?:of|about)|joke|joking|kidding|just saying)\b",
    re.IGNORECASE,
)
_REPORTED = re.compile(r"[\"“”«»]|\b(?:said|says|told|asked|according to|quote|read that|heard that)\b", re.IGNORECASE)
_PASSING = re.compile(
    r"\b(?:hungry|thirsty|tired|sleepy|bored|cold|hot|sick of|late|busy|ready|sorry|back|home|here|done|fine|okay|glad|"
    r"happy|sad|peckish|exhausted|lost|in a hurry|right now|at the moment|this minute)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"^(?:(?:oh|ah|um+|uh+|er|well|so|and|but|also|yes|yeah|no|okay|ok|hey|hi|haru|please|by the way|actually|you know"
    r"|i mean|like|listen|look|anyway|besides|remember(?: that)?|don['’]t forget(?: that)?|just so you know"
    r"|for your information)\b[,:]?\s*)+",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:,?\s*\b(?:by the way|you know|actually|please|haru|though|okay|right|again|i mean|just so you know)\b)+\W*$",
    re.IGNORECASE,
)
_GARBLED = re.compile(
    r"\b(?:my|our|a|the) (?:i|we|my|our|is|and|but|if)\b|\b(?:i|we) (?:i|we|my|our|is|and|but)\b", re.IGNORECASE
)
_CORRECTED = re.compile(r",\s*(?:and\s+)?not\s+[^,]+$", re.IGNORECASE)
_CLAUSE = re.compile(
    r"(?<=[.!?;])\s+|\s*(?:,\s*)?\b(?:and|but)\b\s+(?=(?:i|we|my|our)\b)|\s*,\s+(?=(?:my|our)\s)", re.IGNORECASE
)
_ABBREVIATION = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|St|Prof|a\.m|p\.m)\.$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One sort of lasting statement."""

    form: re.Pattern[str]
    kind: Kind
    importance: int


def _pattern(kind: Kind, importance: int, *forms: str) -> Pattern:
    return Pattern(re.compile("|".join(f"^(?:{form})" for form in forms), re.IGNORECASE), kind, importance)


_I = r"(?:i|we)"
_I_AM = r"(?:i['’]?m|i am|we['’]?re|we are)"
_I_HAVE = r"(?:i|we)(?:['’]ve| have)?(?: got)?"
_NOW = r"(?:(?:now|currently|still|also|just|really|absolutely|finally|recently|both) )?"
_WHEN = r".*(?:\d|day|week|month|year|tomorrow|tonight|summer|winter|spring|autumn|fall)"
_MEDICINE = "medication|medicine|insulin|tablets|pills|antibiotics|blood thinners"
_DIET = "vegetarian|vegan|diabetic|asthmatic|coeliac|celiac|pregnant|deaf|blind|colou?r-?blind|left-handed"
_DATES = "appointment|meeting|interview|exam|surgery|operation|flight|recital|wedding|party|reservation|check-?up"
_THINGS = f"{_PETS}|{_FAMILY}|car|bike|bicycle|motorbike|boat|house|garden|allotment|piano|guitar|cello|violin"
_NAME = r"(?-i:[A-Z])\w+"

PATTERNS = (
    _pattern(Kind.PERSON, 5, rf"{_OWN} (?:full |first |last )?name is \w", r"(?:you can )?call me \w"),
    _pattern(Kind.EVENT, 4, rf"{_OWN} (?:{_WHO}(?: \w+)?['’]s )?birthday is\b", r"i was born\b"),
    _pattern(Kind.FACT, 4, rf"{_OWN} (?:{_PETS})(?:['’]s name)? is (?:called |named )?{_NAME}"),
    _pattern(Kind.PERSON, 5, rf"{_OWN} {_WHO}(?:['’]s name)? is (?:called |named )?{_NAME}"),
    _pattern(
        Kind.PERSON,
        4,
        rf"{_OWN} {_WHO}(?: {_NAME})? (?:lives|works|studies|moved|has|had|plays|is (?:allergic|learning|moving))\b",
    ),
    _pattern(
        Kind.FACT,
        5,
        rf"{_I_AM} {_NOW}(?:not )?(?:severely )?allergic to\b",
        rf"{_I} have an? [\w ]*allergy\b",
        rf"(?:i take|i['’]m on|i['’]m taking) [\w ]*(?:{_MEDICINE})\b",
        rf"{_I_AM} (?:a |an )?(?:{_DIET})\b",
        rf"{_I} {_NOW}live (?:in|at|on|near|with)\b",
        rf"{_I_HAVE} {_NOW}moved (?:in)?to\b",
        rf"{_I_AM} {_NOW}living in\b",
    ),
    _pattern(
        Kind.FACT,
        4,
        rf"i {_NOW}(?:work|teach|study)\b",
        r"i['’]m (?:working|studying) (?:as|at|for)\b",
        r"i['’]m an? (?:\w+ )?(?:\w+(?:er|or|ist|ian|ant)|nurse|cook|chef|pilot)\b",
        r"i (?:just )?(?:retired|started working)\b",
    ),
    _pattern(
        Kind.INTEREST,
        3,
        rf"{_I_AM} {_NOW}(?:learning|practi[cs]ing|studying|training for)\b",
        r"i (?:play|collect|paint|knit|garden|climb|swim|run)\b",
    ),
    _pattern(Kind.PROJECT, 4, rf"{_I_AM} {_NOW}(?:building|writing|renovating|restoring|working on|saving for)\b"),
    _pattern(
        Kind.PREFERENCE,
        3,
        rf"{_I} {_NOW}(?:like|love|enjoy|prefer|hate|dislike|adore|(?:can['’]t|cannot) stand)\b",
        rf"{_I} (?:don['’]t|do not) (?:like|eat|drink|enjoy)\b",
        rf"{_OWN} favou?rite\b",
    ),
    _pattern(Kind.PLAN, 4, rf"{_I_HAVE} (?:an?|my|our) [\w' -]*(?:{_DATES})\b"),
    _pattern(
        Kind.PLAN,
        4,
        rf"{_I_AM} (?:going to|planning|flying|travell?ing|moving|visiting|getting married|expecting)\b{_WHEN}",
    ),
    _pattern(Kind.FACT, 3, rf"{_I_HAVE} ?(?:own |bought |adopted )?(?:an?|two|three) [\w -]*(?:{_THINGS})s?\b"),
    _pattern(
        Kind.FACT,
        3,
        rf"{_I} (?:no longer|don['’]t|do not|never) (?:live|work|eat|drink|own|have|drive|smoke|play|use)\b",
        rf"{_I} (?:stopped|quit|gave up) \w+ing\b",
    ),
    _pattern(Kind.FACT, 3, rf"{_OWN} (?:[\w'’-]+ ){{1,4}}(?:is|are|starts|ends|was) \S"),
)
"""The first that fits says what sort of thing it is."""


def clauses(said: str) -> list[str]:
    """The clauses of an utterance that may say something lasting, fillers cut off."""
    found: list[str] = []
    for part in _sentences(said):
        clause = _TAIL.sub("", _FILLER.sub("", part.strip())).strip()
        clause = _CORRECTED.sub("", clause).strip()
        if clause and not (_QUESTION.search(part) or _SUPPOSED.search(clause) or _REPORTED.search(clause)):
            found.append(clause)
    return found


def lasting(clause: str) -> Pattern | None:
    """What sort of lasting statement a clause is; ``None`` where it is none."""
    pattern = next((each for each in PATTERNS if each.form.search(clause)), None)
    if pattern is None or len(clause.split()) < 3 or len(clause) > 200 or _GARBLED.search(clause):
        return None
    if _PASSING.search(clause) and pattern.kind not in {Kind.PLAN, Kind.EVENT}:
        return None
    return pattern


def _sentences(said: str) -> list[str]:
    parts: list[str] = []
    for part in _CLAUSE.split(said):
        if parts and _ABBREVIATION.search(parts[-1]):  # "Dr. Amari" is one name
            parts[-1] = f"{parts[-1]} {part}"
        else:
            parts.append(part)
    return parts


_AS_OF = re.compile(r"^as of [^,]+, \d{4}, ", re.IGNORECASE)
_HOME = re.compile(
    r"the user (?:has )?(?:now |still |currently |finally |just |recently )?(?:lives?|moved|is (?:now )?living)\b",
    re.IGNORECASE,
)
_WORK = re.compile(r"the user (?:now |currently )?works\b", re.IGNORECASE)


def attribute(sentence: str) -> str:
    """What a sentence about the user tells the value of, as "sister mia birthday"; "" where nothing in particular.

    Two sentences with one attribute and different values are an old and a new state of one thing.
    """
    text = _AS_OF.sub("", sentence.strip())
    if _HOME.match(text):
        return "home"
    if _WORK.match(text):
        return "work"
    match = re.match(r"the user['’]s ([\w'’ -]{2,60}?) (?:is|are)\b", text, re.IGNORECASE)
    if not match:
        return ""
    owned = re.sub(r"['’]s\b", "", match[1].lower())
    return re.sub(rf"^({_WHO}) name$", r"\1", owned)

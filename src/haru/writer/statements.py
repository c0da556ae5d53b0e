"""Statements: which first-person clauses say something lasting, and what sort of thing. English. Pure.

Conservative on purpose: what is asked, supposed, quoted, joked, or true only for the moment is passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from haru.memory import Kind
from haru.writer import dates

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
    r"happy|sad|peckish|exhausted|lost|in a hurry|right now|at the moment|this minute"
    r"|dead|ringing|loading|frozen|stuck)\b",
    re.IGNORECASE,
)
_OF_THE_MOMENT = re.compile(
    # what somebody points at, says to somebody, or is about to do
    r"\b(?:you|your|yours|this (?!(?:spring|summer|autumn|fall|winter|year|month|week|weekend)\b)\w+|these|those"
    r"|it when|in (?:an?|\w+) (?:seconds?|minutes?|hours?|moment|bit))\b",
    re.IGNORECASE,
)
_FICTION = re.compile(
    r"\bin (?:the|a|this|that|my) (?:movie|film|show|series|episode|game|story|dream|song|novel|book|play)\b",
    re.IGNORECASE,
)
_AT_HAND = re.compile(
    r"^(?:my|our) (?:\w+ )?(?:phone|keys?|wallet|glasses|battery|alarm|timer|laptop|screen|hands?|feet|head|back|hair"
    r"|coffee|tea|food|dinner|lunch|breakfast)\b",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"^(?:(?:hey|haru|please|and|oh|so)\b[, ]*)*(?:remember|don['’]t forget|note|keep in mind)\b(?: that| this:?)?,?\s+"
    r"(?=(?:i|we|my|our)\b)",
    re.IGNORECASE,
)
"""What begins the sentences that somebody wants to be kept, whatever they say."""
_FILLER = re.compile(
    r"^(?:(?:you can(?= call me)|oh|ah|um+|uh+|er|well|so|and|but|also|yes|yeah|no|okay|ok|hey|hi|haru|please"
    r"|by the way|actually|you know"
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
_MENDED = re.compile(
    r"^(?:(?:wait|no|sorry|oops|rather|correction|i mean|actually)\b[,.:]?\s*)+(?:(?:it|that|she|he)(?:['’]s| is)\s+)?"
    r"(?P<value>(?:(?-i:[A-Z])\w*|\d\w*)(?:\s\w+){0,3})$",
    re.IGNORECASE,
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
_WHEN = (
    r".*(?:\d|day|week|month|year|tomorrow|tonight|summer|winter|spring|autumn|fall|in (?:january|february|march|april"
    r"|may|june|july|august|september|october|november|december)\b)"
)
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
        rf"{_OWN} {_WHO}(?: {_NAME})? (?:lives|works|studies|moved|has|had|plays|is (?:allergic|learning|moving)"
        r"|likes|loves|hates|prefers|can['’]t stand|does(?: not|n['’]t) (?:like|eat|drink)|(?:just )?bought)\b",
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
        rf"{_I_AM} (?:married|engaged) to\b",
    ),
    _pattern(
        Kind.FACT,
        4,
        rf"i {_NOW}(?:work|teach|study)\b",
        r"i['’]m (?:working|studying) (?:as|at|for)\b",
        r"i['’]m an? (?:\w+ )?(?:\w+(?:er|or|ist|ian|ant)|nurse|cook|chef|pilot)\b",
        r"i (?:just )?(?:retired|started working|started a new job|got a new job)\b",
    ),
    _pattern(
        Kind.INTEREST,
        3,
        rf"{_I_AM} {_NOW}(?:learning|practi[cs]ing|studying|training for)\b",
        r"i (?:play|collect|paint|knit|garden|climb|swim|run|keep bees)\b",
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
_KEPT = _pattern(Kind.FACT, 3, r"")
"""What somebody asked to keep, if nothing more is known of it."""


def clauses(said: str) -> list[str]:
    """The clauses of an utterance that may say something lasting, fillers cut off."""
    found: list[str] = []
    if _FICTION.search(said):
        return found
    for part in _sentences(said):
        clause = _TAIL.sub("", _FILLER.sub("", part.strip())).strip()
        clause = _CORRECTED.sub("", clause).strip()
        if clause and not (_QUESTION.search(part) or _SUPPOSED.search(clause) or _REPORTED.search(clause)):
            found.append(clause)
    return found


def corrected(clause: str) -> str:
    """The value that a clause puts in the place of the last one, as in "wait, no, May 5"; "" where it does not."""
    match = _MENDED.match(clause.strip(" .!"))
    return match["value"] if match else ""


def asked_to_keep(said: str) -> list[str]:
    """The clauses that somebody asked to remember in so many words."""
    parts = (part.strip() for part in _sentences(said))
    return [clause for part in parts if _ASKED.match(part) for clause in clauses(part)]


def lasting(clause: str, *, asked: bool = False) -> Pattern | None:
    """What sort of lasting statement a clause is; ``None`` where it is none.

    Args:
        clause: one of `clauses`.
        asked: whether somebody asked to remember it.
    """
    pattern = next((each for each in PATTERNS if each.form.search(clause)), _KEPT if asked else None)
    if pattern is None or len(clause.split()) < 3 or len(clause) > 200 or _GARBLED.search(clause):
        return None
    if _OF_THE_MOMENT.search(clause) or (_AT_HAND.search(clause) and not asked):
        return None
    if _PASSING.search(clause) and pattern.kind not in {Kind.PLAN, Kind.EVENT}:
        return None
    return pattern


def _sentences(said: str) -> list[str]:
    parts: list[str] = []
    for part in _CLAUSE.split(" ".join(said.split())):  # long gaps cost a search for clauses dearly
        if parts and _ABBREVIATION.search(parts[-1]):  # "Dr. Amari" is one name
            parts[-1] = f"{parts[-1]} {part}"
        else:
            parts.append(part)
    return parts


_HOME = re.compile(
    r"the user (?:has )?(?:now |still |currently |finally |just |recently )?(?:lives? (?:in|at)|moved (?:in)?to"
    r"|is (?:now )?living in) (?!an?\b|the\b)",
    re.IGNORECASE,
)
_WORK = re.compile(r"the user (?:now |currently )?works (as|at|for)\b", re.IGNORECASE)
_ONE_ONLY = re.compile(
    r"\b(?:wife|husband|partner|spouse|fianc[eé]e?|girlfriend|boyfriend|mother|mom|mum|father|dad|boss|landlord)$"
)
_ANY = re.compile(rf"(?:^|.* ){_WHO}(?: \w+)?$", re.IGNORECASE)


def attribute(sentence: str) -> str:
    """What a sentence about the user tells the value of, as "sister mia birthday"; "" where nothing in particular.

    Two sentences with one attribute and different values are an old and a new state of one thing.
    """
    text = dates.undated(sentence)
    if _HOME.match(text):
        return "home"
    if work := _WORK.match(text):
        return "work as" if work[1].lower() == "as" else "work at"
    match = re.match(r"the user['’]s ([\w'’ -]{2,60}?) (?:is|are)\b( (?:called|named)\b| an?\b)?", text, re.IGNORECASE)
    if not match:
        return ""
    owned = re.sub(r"['’]s\b", "", match[1].lower())
    what = re.sub(rf"^({_WHO}) name$", r"\1", owned)
    if what == owned and not _ANY.match(owned):
        return owned
    # Of sons, friends and dogs there may be several, and "a poodle" is no other name for the same dog: only who is one
    # of a kind, and only what names them, has an older state that a newer one takes the place of.
    named = what != owned or (match[2] or "").strip().lower() in {"called", "named"}
    return what if named and _ONE_ONLY.search(what) else ""

"""Dates: words like "next Friday" become a date by the clock of the turn that said them. Pure.

A memory is read months later. One that still says "tomorrow" then is wrong, so what can't be settled is refused.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip

_DAY = "|".join(WEEKDAYS)
_MONTH = "|".join(MONTHS)
_NUMBER = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_NUMBER)})"
_RELATIVE = re.compile(
    rf"""
    (?P<lead>\b(?:on|by|until|since|from|for|during|in)\s+)?
    \b(?:
        (?P<word>today|tonight|tomorrow|yesterday|last\s+night|this\s+(?:morning|afternoon|evening))
        (?:\s+(?P<part>morning|afternoon|evening|night))?
      | the\s+day\s+(?P<beyond>after\s+tomorrow|before\s+yesterday)
      | (?P<which>next|last|this|coming)\s+(?:(?P<weekday>{_DAY})|(?P<span>week|weekend|month|year))
      | in\s+{_COUNT}\s+(?P<ahead>days?|weeks?|months?|years?)
      | {_COUNT.replace("count", "count_ago")}\s+(?P<ago>days?|weeks?|months?|years?)\s+ago
    )\b(?!['’]s)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_DATED = re.compile(
    rf"\b(?:(?P<weekday>{_DAY}),?\s+)?(?:the\s+)?"
    rf"(?:(?P<month>{_MONTH})\s+(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"|(?P<day_2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month_2>{_MONTH})),?\s+(?P<year>\d{{4}})\b"
    rf"(?:\s*\((?P<weekday_2>{_DAY})\))?",
    re.IGNORECASE,
)
_YEARLESS = re.compile(
    rf"\b(?P<lead>in|on|by|until|since)\s+(?P<when>(?-i:{_MONTH})(?:\s+\d{{1,2}}(?:st|nd|rd|th)?)?|(?-i:{_DAY}))"
    rf"\b(?!['’]s|s\b|,?\s+(?:\d|the\s+\d|(?-i:{_MONTH})))",
    re.IGNORECASE,
)
_COMING = re.compile(
    r"\b(?:will|going to|plans?|planning|(?:is|are) (?:flying|moving|visiting|travell?ing|getting|expecting|having"
    r"|starting|leaving|seeing|meeting|due)|appointment|meeting|interview|exam|surgery|operation|flight|recital|reservation"
    r"|check-?up)\b",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"\b(?:was|were|had|went|came|met|bought|sold|moved|started|got|saw|retired|adopted)\b", re.IGNORECASE
)
_RECURRING = re.compile(r"\b(?:every|each|birthday|anniversary|usually|always|often|weekly|yearly)\b", re.IGNORECASE)
_AS_OF = re.compile(r"^as of [^,]+, \d{4}, ", re.IGNORECASE)
_GERMAN = "montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|woche|wochenende|monat|jahr"
_FRENCH = "lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|semaine|mois|an|année"
_SPANISH = "lunes|martes|miércoles|jueves|viernes|sábado|domingo|semana|mes|año"
_UNSETTLED = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|last\s+night|(?:next|last|this|coming)\s+(?:week|weekend|month|year|"
    rf"{_DAY}|spring|summer|autumn|fall|winter)|(?:days?|weeks?|months?|years?)\s+ago|the\s+other\s+day|"
    # the same in German, French and Spanish
    # ("Morgen" is the morning in German, "mañana" after an article in Spanish, and "hier" means here in German)
    rf"übermorgen|(?-i:morgen)|heute|gestern|vorgestern|(?:nächste|letzte|kommende)[nrsm]?\s+(?:{_GERMAN})|"
    rf"demain|aujourd['’]hui|hier(?=\s+(?:soir|matin|après|le|la|il|elle|à))|avant-hier|(?:{_FRENCH})\s+"
    rf"(?:prochaine?|derni(?:er|ère))|(?<!la )(?<!cada )mañana|ayer|hoy|"
    rf"(?:próxim[oa]|pasad[oa])\s+(?:{_SPANISH})|(?:{_SPANISH})\s+(?:próxim[oa]|pasad[oa]|que viene))\b",
    re.IGNORECASE,
)


def settle(text: str, said_at: datetime) -> str | None:
    """The text with every relative date made absolute; ``None`` where one can't be, or is no date at all."""
    today = said_at.date()
    settled = _RELATIVE.sub(lambda match: _absolute(match, today), text)
    if not _RECURRING.search(settled):
        settled = _YEARLESS.sub(lambda match: _nearest(match, settled, today), settled)
    if _UNSETTLED.search(settled):
        return None
    try:
        return _DATED.sub(_with_right_weekday, settled)
    except ValueError:
        return None


def as_of(day: date, sentence: str) -> str:
    """A sentence that says when it was true."""
    first, _, rest = sentence.partition(" ")
    lowered = f"{first.lower()} {rest}" if first in {"The", "A", "An", "It", "There"} else sentence
    return f"As of {spelled(day)}, {lowered}"


def undated(text: str) -> str:
    """A sentence without the words of `as_of`."""
    return _AS_OF.sub("", text.strip())


def tells(text: str, year: int) -> bool:
    """Whether a sentence says that it is of a year."""
    return re.search(rf"\b{year}\b", text) is not None


def spelled(day: date) -> str:
    """As people write it: December 1, 2026."""
    return f"{MONTHS[day.month - 1]} {day.day}, {day.year}"


def _absolute(match: re.Match[str], today: date) -> str:
    lead = (match["lead"] or "").strip()
    start = match["lead"][0].isupper() if match["lead"] else match[0][0].isupper()

    def on(day: date) -> str:
        return f"{lead or ('On' if start else 'on')} {WEEKDAYS[day.weekday()]}, {spelled(day)}"

    if match["word"]:
        word = match["word"].lower()
        if match["word"][0].isupper() and match.start():
            return match[0]  # a name, as of a newspaper
        day = today + timedelta(days={"tomorrow": 1, "yesterday": -1}.get(word, -1 if word.startswith("last") else 0))
        if not match["part"]:
            return on(day)
        part = match["part"].lower()
        return f"{lead or ('On' if start else 'on')} the {part} of {WEEKDAYS[day.weekday()]}, {spelled(day)}"
    if match["beyond"]:
        return on(today + timedelta(days=2 if match["beyond"].lower().startswith("after") else -2))
    if unit := (match["ahead"] or match["ago"] or "").lower():
        number = (match["count"] or match["count_ago"]).lower()
        count = (int(number) if number.isdigit() else _NUMBER[number]) * (1 if match["ahead"] else -1)
        if unit.startswith(("month", "year")):
            span = "month" if unit.startswith("month") else "year"
            return _span(span, count, lead or ("In" if start else "in"), today)
        return on(today + timedelta(days=count * (7 if unit.startswith("week") else 1)))
    which = match["which"].lower()
    if match["weekday"]:
        return on(_weekday(WEEKDAYS.index(match["weekday"].capitalize()), which, today))
    return _span(match["span"].lower(), {"last": -1, "this": 0}.get(which, 1), lead or ("In" if start else "in"), today)


def _weekday(wanted: int, which: str, today: date) -> date:
    """The nearest such day: after today, or for "last" before it."""
    if which == "last":
        return today - timedelta(days=(today.weekday() - wanted - 1) % 7 + 1)
    return today + timedelta(days=(wanted - today.weekday() - 1) % 7 + 1)


def _span(span: str, step: int, lead: str, today: date) -> str:
    preposition = "in" if lead == "on" else lead
    if span == "year":
        return f"{preposition} {today.year + step}"
    if span == "month":
        year, month = divmod(today.year * 12 + today.month - 1 + step, 12)
        return f"{preposition} {MONTHS[month]} {year}"
    monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
    if span == "weekend":
        return f"{'on' if lead == 'in' else lead} the weekend of {spelled(monday + timedelta(days=5))}"
    return f"{preposition} the week of {spelled(monday)}"


def _nearest(match: re.Match[str], text: str, today: date) -> str:
    """A weekday or a date without a year, where the sentence looks ahead or back; otherwise as it is."""
    step = 1 if _COMING.search(text) else -1 if _GONE.search(text) else 0
    name, _, number = match["when"].partition(" ")
    if not step:
        return match[0]
    if name in WEEKDAYS:
        day = _weekday(WEEKDAYS.index(name), "last" if step < 0 else "next", today)
        return f"{match['lead']} {name}, {spelled(day)}"
    month = MONTHS.index(name) + 1
    here = (month, int(re.sub(r"\D", "", number) or (1 if step < 0 else 31)))
    beyond = here < (today.month, today.day) if step > 0 else here > (today.month, today.day)
    year = today.year + (step if beyond else 0)
    return f"{match[0]}{',' if number else ''} {year}"


def _with_right_weekday(match: re.Match[str]) -> str:
    """Weekdays are hard for models: the date decides.

    Raises:
        ValueError: there is no such day.
    """
    month = (match["month"] or match["month_2"]).capitalize()
    right = WEEKDAYS[date(int(match["year"]), MONTHS.index(month) + 1, int(match["day"] or match["day_2"])).weekday()]
    named = match["weekday"] or match["weekday_2"]
    return match[0].replace(named, right, 1) if named else match[0]

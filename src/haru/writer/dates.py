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
_NUMBER = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_NUMBER)})"
_RELATIVE = re.compile(
    rf"""
    (?P<lead>\b(?:on|by|until|since|from|for|during|in)\s+)?
    \b(?:
        (?P<word>today|tonight|tomorrow|yesterday|this\s+(?:morning|afternoon|evening))
      | the\s+day\s+(?P<beyond>after\s+tomorrow|before\s+yesterday)
      | (?P<which>next|last|this|coming)\s+(?:(?P<weekday>{_DAY})|(?P<span>week|weekend|month|year))
      | in\s+{_COUNT}\s+(?P<ahead>days?|weeks?)
      | {_COUNT.replace("count", "count_ago")}\s+(?P<ago>days?|weeks?)\s+ago
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_DATED = re.compile(
    rf"\b(?P<weekday>{_DAY}),?\s+(?:the\s+)?(?P<month>{'|'.join(MONTHS)})\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"(?:,?\s+(?P<year>\d{{4}}))?\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:19|20)\d{2}\b")
_UNSETTLED = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|(?:next|last|this|coming)\s+(?:week|weekend|month|year|"
    rf"{_DAY}|spring|summer|autumn|fall|winter)|(?:days?|weeks?|months?|years?)\s+ago|the\s+other\s+day|"
    # the same in German, French and Spanish
    r"übermorgen|morgen|heute|gestern|vorgestern|(?:nächste|letzte|kommende)[nrsm]?\s+\w+|"
    r"demain|aujourd['’]hui|hier|(?:semaine|mois|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)\s+"
    r"(?:prochaine?|derni(?:er|ère))|mañana|ayer|hoy|(?:próxim[oa]|pasad[oa])\s+\w+)\b",
    re.IGNORECASE,
)


def settle(text: str, said_at: datetime) -> str | None:
    """The text with every relative date made absolute; ``None`` where one can't be."""
    settled = _DATED.sub(_with_right_weekday, _RELATIVE.sub(lambda match: _absolute(match, said_at.date()), text))
    return None if _UNSETTLED.search(settled) else settled


def has_date(text: str) -> bool:
    """Whether a year stands in the text."""
    return bool(_YEAR.search(text))


def spelled(day: date) -> str:
    """As people write it: December 1, 2026."""
    return f"{MONTHS[day.month - 1]} {day.day}, {day.year}"


def _absolute(match: re.Match[str], today: date) -> str:
    lead = (match["lead"] or "").strip()
    start = match["lead"][0].isupper() if match["lead"] else match[0][0].isupper()

    def on(day: date) -> str:
        return f"{lead or ('On' if start else 'on')} {WEEKDAYS[day.weekday()]}, {spelled(day)}"

    if match["word"]:
        offset = {"tomorrow": 1, "yesterday": -1}.get(match["word"].lower(), 0)
        return on(today + timedelta(days=offset))
    if match["beyond"]:
        return on(today + timedelta(days=2 if match["beyond"].lower().startswith("after") else -2))
    if match["ahead"] or match["ago"]:
        number = (match["count"] or match["count_ago"]).lower()
        count = int(number) if number.isdigit() else _NUMBER[number]
        days = count * (7 if (match["ahead"] or match["ago"]).lower().startswith("week") else 1)
        return on(today + timedelta(days=days if match["ahead"] else -days))
    which = match["which"].lower()
    if match["weekday"]:
        return on(_weekday(WEEKDAYS.index(match["weekday"].capitalize()), which, today))
    return _span(match["span"].lower(), which, lead, today)


def _weekday(wanted: int, which: str, today: date) -> date:
    """The nearest such day: after today, or for "last" before it."""
    if which == "last":
        return today - timedelta(days=(today.weekday() - wanted - 1) % 7 + 1)
    return today + timedelta(days=(wanted - today.weekday() - 1) % 7 + 1)


def _span(span: str, which: str, lead: str, today: date) -> str:
    step = {"last": -1, "this": 0}.get(which, 1)
    preposition = lead if lead.lower() not in {"", "on"} else "in"
    if span == "year":
        return f"{preposition} {today.year + step}"
    if span == "month":
        year, month = divmod(today.year * 12 + today.month - 1 + step, 12)
        return f"{preposition} {MONTHS[month]} {year}"
    monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
    if span == "weekend":
        return f"{lead or 'on'} the weekend of {spelled(monday + timedelta(days=5))}"
    return f"{preposition} the week of {spelled(monday)}"


def _with_right_weekday(match: re.Match[str]) -> str:
    """Weekdays are hard for models: the date decides."""
    if not match["year"]:
        return match[0]
    try:
        day = date(int(match["year"]), MONTHS.index(match["month"].capitalize()) + 1, int(match["day"]))
    except ValueError:
        return match[0]
    return match[0].replace(match["weekday"], WEEKDAYS[day.weekday()], 1)

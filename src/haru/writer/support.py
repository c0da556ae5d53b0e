"""Support: which turn a memory rests on. A memory that nobody said is not stored. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from haru import words
from haru.chatlog import Turn
from haru.memory import Evidence
from haru.writer.dates import MONTHS, WEEKDAYS
from haru.writer.polarity import KIN
from haru.writer.refusals import holds_secret

LEAST = 0.34
"""Share of a memory's content words that must have been said."""
MAX_QUOTE_CHARS = 120

_AGREES = re.compile(
    r"^\W*(?:yes|yeah|yep|yup|right|exactly|correct|true|sure|that['’]?s (?:right|it|true)|ja|genau|oui|sí|si)\b",
    re.IGNORECASE,
)
_CALENDAR = frozenset(words.term(name.lower()) for name in (*MONTHS, *WEEKDAYS, "week", "weekend"))
_ALIKE_CHARS = 5
"""Words that begin with so many of the same letters are one word in two forms."""
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;]?")


@dataclass(frozen=True, slots=True)
class Support:
    """What a memory rests on."""

    evidence: Evidence
    said_in: Turn
    by_finding: bool
    """What was looked up supports it: it is no fact about a person by itself."""
    spoken: bool = True
    """Enough of it was said by a person, too."""


def support(
    text: str, turns: Sequence[Turn], *, before: Turn | None = None, known: frozenset[str] = frozenset()
) -> Support | None:
    """The turn that says most of a memory; ``None`` where nobody said enough of it.

    Args:
        text: the memory's sentence.
        turns: the batch's new turns, in order.
        before: the turn before them: its reply may be what a person agrees to.
        known: terms that need no support, as those of the memory that is being updated.
    """
    wanted = telling(text)
    needed = wanted - known or wanted
    if not needed:
        return None
    said = [_spoken(turn, earlier) for turn, earlier in zip(turns, (before, *turns), strict=False)]
    everything = frozenset[str]().union(*said)
    best = max(range(len(turns)), key=lambda n: (len(_found(wanted, said[n])), n), default=None)
    if best is None:
        return None
    # A word that only a looked-up text brought in makes a memory rest on that text, whatever else in it was said.
    from_elsewhere = any(wanted & _looked_up(turn) - everything for turn in turns)
    if len(_found(needed, everything)) >= LEAST * len(needed) and _found(wanted, said[best]) and not from_elsewhere:
        return Support(_evidence(turns[best], turns[best].said, wanted), turns[best], by_finding=False)
    for turn in turns:
        looked_up = _looked_up(turn)
        if len(_found(needed, looked_up | everything)) >= LEAST * len(needed) and _found(wanted, looked_up):
            found = " ".join(each.text for each in turn.findings)
            spoken = len(_found(needed, everything)) >= LEAST * len(needed)
            return Support(_evidence(turn, found, wanted), turn, by_finding=True, spoken=spoken)
    return None


def sentences(text: str) -> list[str]:
    """The sentences of a text, with the sign that ends each."""
    return _SENTENCE.findall(text) or [text]


def telling(text: str) -> frozenset[str]:
    """The terms of a sentence that say something: days and years apart, which a writer adds."""
    found = _terms(text)
    return frozenset(each for each in found if each not in _CALENDAR and not each.isdigit()) or found


def _spoken(turn: Turn, before: Turn | None) -> frozenset[str]:
    """The terms a person said; those of the reply before it too, where the person agrees to it."""
    agreed = before.heard_reply if before and _AGREES.match(turn.said) and "?" not in turn.said else ""
    # What Haru looked up for somebody was asked for in somebody's words, whatever form the question took.
    asked = " ".join(each.query for each in turn.findings)
    return _terms(f"{turn.said} {agreed} {asked}")


def _looked_up(turn: Turn) -> frozenset[str]:
    return frozenset(term for each in turn.findings for term in _terms(f"{each.query} {each.text}"))


def _terms(text: str) -> frozenset[str]:
    """The terms of a text; one term for each relation in a family."""
    return frozenset(KIN.get(each, each) for each in words.terms(text))


def _found(wanted: frozenset[str], said: frozenset[str]) -> frozenset[str]:
    """Those of the wanted terms that were said, in this form or another."""
    beginnings = {each[:_ALIKE_CHARS] for each in said if len(each) >= _ALIKE_CHARS}
    return frozenset(each for each in wanted if each in said or each[:_ALIKE_CHARS] in beginnings)


def _evidence(turn: Turn, text: str, wanted: frozenset[str]) -> Evidence:
    best = max(sentences(text), key=lambda sentence: len(_found(wanted, _terms(sentence)))).strip()
    if holds_secret(best):
        return Evidence(session=turn.session, turns=(turn.id,))
    quote = best if len(best) <= MAX_QUOTE_CHARS else best[: MAX_QUOTE_CHARS - 1].rsplit(" ", 1)[0] + "…"
    return Evidence(session=turn.session, turns=(turn.id,), quote=quote)

"""Support: which turn a memory rests on. A memory that nobody said is not stored. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from haru import words
from haru.chatlog import Turn
from haru.memory import Evidence
from haru.writer.dates import MONTHS, WEEKDAYS

LEAST = 0.34
"""Share of a memory's content words that must have been said."""
MAX_QUOTE_CHARS = 120

_AGREES = re.compile(
    r"^\W*(?:yes|yeah|yep|yup|right|exactly|correct|true|sure|that['’]?s (?:right|it|true)|ja|genau|oui|sí|si)\b",
    re.IGNORECASE,
)
_CALENDAR = frozenset(words.term(name.lower()) for name in (*MONTHS, *WEEKDAYS, "week", "weekend"))
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;]?")


@dataclass(frozen=True, slots=True)
class Support:
    """What a memory rests on."""

    evidence: Evidence
    said_in: Turn
    by_finding: bool
    """Only what was looked up supports it: it may be a finding or an interest, and nothing else."""


def support(text: str, turns: Sequence[Turn], *, known: frozenset[str] = frozenset()) -> Support | None:
    """The turn that says most of a memory; ``None`` where nobody said enough of it.

    Args:
        text: the memory's sentence.
        turns: the batch's new turns, in order.
        known: terms that need no support, as those of the memory that is being updated.
    """
    wanted = telling(text)
    needed = wanted - known or wanted
    if not needed:
        return None
    said = [_spoken(turn, before) for turn, before in zip(turns, (None, *turns), strict=False)]
    everything = frozenset[str]().union(*said)
    best = max(range(len(turns)), key=lambda n: (len(said[n] & wanted), n), default=None)
    if best is None:
        return None
    if len(needed & everything) >= LEAST * len(needed) and said[best] & wanted:
        return Support(_evidence(turns[best], turns[best].said, wanted), turns[best], by_finding=False)
    for turn in turns:
        looked_up = frozenset(term for each in turn.findings for term in words.terms(f"{each.query} {each.text}"))
        if len(needed & (looked_up | everything)) >= LEAST * len(needed) and looked_up & wanted:
            found = " ".join(each.text for each in turn.findings)
            return Support(_evidence(turn, found, wanted), turn, by_finding=True)
    return None


def telling(text: str) -> frozenset[str]:
    """The terms of a sentence that say something: days and years apart, which a writer adds."""
    found = frozenset(words.terms(text))
    return frozenset(each for each in found if each not in _CALENDAR and not each.isdigit()) or found


def _spoken(turn: Turn, before: Turn | None) -> frozenset[str]:
    """The terms a person said; those of the reply before it too, where the person agrees to it."""
    agreed = before.heard_reply if before and _AGREES.match(turn.said) else ""
    return frozenset(words.terms(f"{turn.said} {agreed}"))


def _evidence(turn: Turn, text: str, wanted: frozenset[str]) -> Evidence:
    sentences = _SENTENCE.findall(text) or [text]
    best = max(sentences, key=lambda sentence: len(wanted & frozenset(words.terms(sentence)))).strip()
    quote = best if len(best) <= MAX_QUOTE_CHARS else best[: MAX_QUOTE_CHARS - 1].rsplit(" ", 1)[0] + "…"
    return Evidence(session=turn.session, turns=(turn.id,), quote=quote)

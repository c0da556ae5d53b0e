"""Safety: what a person's health may hang on is never changed by an anecdote, only by plain words. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from haru.chatlog import Turn
from haru.memory import Memory
from haru.writer import polarity
from haru.writer.support import sentences, telling

_SAFETY = re.compile(
    r"allerg|anaphyla|epipen|medication|medicine|insulin|diabet|asthma|epilep|pacemaker|blood thinner|emergency",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:no longer|any ?more|never (?:was|were|had)|wrong|mistake|mistaken|outgr[eo]w[n]?|stopped|cured|off"
    r"|(?:not|n['’]t)(?: (?:really|actually|even|have|take|need|be|an?|any|the|on|taking|using))*"
    r" (?:allerg\w*|diabet\w*|asthma\w*|epilep\w*|medic\w*|insulin|pacemaker|blood))\b"
    r"|\w+n['’]t (?:really |actually )?(?:allerg|diabet|asthma|epilep)",
    re.IGNORECASE,
)


def protected(memory: Memory, turns: Sequence[Turn]) -> bool:
    """Whether a memory is a safety fact that nobody took back in these turns: in one sentence, which is no question."""
    if not _SAFETY.search(f"{memory.text} {memory.subject}"):
        return False
    about = telling(memory.text)
    said = (sentence for turn in turns for sentence in sentences(turn.said))
    return not any(
        _TAKEN_BACK.search(sentence) and not sentence.endswith("?") and about & telling(sentence) for sentence in said
    )


def weakened(before: str, after: str) -> bool:
    """Whether a text says less than another, or denies it."""
    return not telling(before) <= telling(after) or polarity.meaning(before)[1] != polarity.meaning(after)[1]

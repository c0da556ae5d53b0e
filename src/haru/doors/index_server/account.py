"""Account: why a document was found, for the people and agents who ask. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from haru import words
from haru.carried import spelt
from haru.doors.index_server.shapes import Mapping

_WORD = re.compile(r"\w+(?:['’]\w+)?")
_FRAGMENT_CHARS = 300
_FRAGMENTS = 3


@dataclass(frozen=True, slots=True)
class Account:
    """What of a question a document holds."""

    terms: list[str]
    """As they are indexed."""
    fields: list[str]
    """Those that hold them, the one with most first."""
    highlights: dict[str, list[str]]

    @property
    def explanation(self) -> str:
        """In a sentence."""
        if not self.terms:
            return "means nearly the same as the question, in other words"
        return f"{', '.join(self.terms)} in {' and '.join(self.fields)}"


def account(question: str, content: dict[str, JsonValue], mapping: Mapping, searchable: Sequence[str]) -> Account:
    """Look a document's fields through for the terms of a question."""
    asked = [term for term, _ in words.query_terms(question)]
    found: Counter[str] = Counter()
    terms: set[str] = set()
    highlights: dict[str, list[str]] = {}
    for field in searchable:
        texts = spelt(content.get(field))
        held = {term for text in texts for term in words.terms(text)} & set(asked)
        if held:
            found[field] = len(held)
            terms |= held
            if "highlightable" in mapping.fields[field].use:
                highlights[field] = [marked for text in texts if (marked := _marked(text, held))][:_FRAGMENTS]
    return Account([term for term in asked if term in terms], [field for field, _ in found.most_common()], highlights)


def _marked(text: str, terms: set[str]) -> str:
    """A fragment with the words of the question in ``<em>``; "" where there are none."""
    hits = [word for word in _WORD.finditer(text) if terms & set(words.terms(word[0]))]
    if not hits:
        return ""
    start = max(0, hits[0].start() - _FRAGMENT_CHARS // 3)
    end = start + _FRAGMENT_CHARS
    shown, at = "", start
    for hit in hits:
        if hit.end() <= end:
            shown += f"{text[at : hit.start()]}<em>{hit[0]}</em>"
            at = hit.end()
    return shown + text[at:end]

"""RulesExtractor: memories without a capable model. English.

One utterance at a time: lasting statements in the first person are put into the third. It learns less than a good
model, and it never invents: every content word that it stores was said. Utterances in other languages are passed
over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from haru import words
from haru.chatlog import Finding, Turn
from haru.memory import Kind, Memory
from haru.writer import polarity
from haru.writer.answer import Answer
from haru.writer.batch import Batch, Proposal
from haru.writer.dates import MONTHS, WEEKDAYS, as_of
from haru.writer.operations import check
from haru.writer.polarity import Similar
from haru.writer.statements import asked_to_keep, attribute, clauses, corrected, lasting
from haru.writer.third_person import third_person

_MAX_FINDING_CHARS = 300
_FIRST_SENTENCE = re.compile(r"(?:[^.!?\n]|\.(?=\S))+")
"""Only that much of a looked-up text: what follows may be advertisements, or orders to assistants."""
_POINTING = re.compile(r"(?:it|they|he|she|this|that|these|those|there)\b", re.IGNORECASE)
_CORRECTION = re.compile(r"^(?P<of>[A-Z]\w+['’]s [a-z][\w ]*?) (?:is|are) (?P<value>\S.*)$")
_CALENDAR = frozenset({*MONTHS, *WEEKDAYS, "As", "The"})
_TOPICS = {"home": ("home", "live"), "work as": ("work", "job"), "work at": ("work", "job")}
"""What people ask by, whatever words the statement had."""
_WEAK = frozenset({"name", "last", "next", "week", "month", "moved", "interested", "longer", "anymore"})


class RulesExtractor:
    """Careful rules in place of a model."""

    id = "rules"

    def __init__(self, *, max_operations: int = 20, similar: Similar | None = None) -> None:
        self._max_operations = max_operations
        self._similar = similar

    async def extract(self, batch: Batch) -> Proposal:
        """See `haru.writer.batch.Extractor.extract`. Never fails."""
        changes = _Changes(batch.related)
        looked_up: list[object] = []
        for turn in batch.turns:
            for item in _statements(turn):
                changes.take(item)
            for finding in turn.findings:
                looked_up.extend(_looked_up(finding, turn))
        answer: Answer = {
            "add": [*changes.added.values(), *looked_up],
            "update": [{"id": key, "text": text} for key, text in changes.updated.items()],
            "retire": [],
            "relevant": [*helped(batch)],
        }
        return check(answer, batch, most=self._max_operations, similar=self._similar)


def _statements(turn: Turn) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    asked = set(asked_to_keep(turn.said))
    for clause in clauses(turn.said):
        if value := corrected(clause):
            _mend(found, value)
        elif pattern := lasting(clause, asked=clause in asked):
            text = third_person(clause)
            found.append({"text": text, "kind": pattern.kind, "importance": pattern.importance, **_labels(text)})
        elif correction := _CORRECTION.match(clause):
            found.append({"text": clause, "of": correction["of"], "value": correction["value"]})
    return found


def _mend(found: list[dict[str, object]], value: str) -> None:
    """Somebody corrects what was just said: it says the new value, or nothing where that can't be told."""
    if not found:
        return
    last = found.pop()
    if re.search(r"\b(?:is|are)\b", str(last["text"])):
        text = _with_value(str(last["text"]), value)
        found.append({**last, "text": text, **_labels(text)})


def _labels(text: str) -> dict[str, object]:
    """Subject and tags out of the sentence's own words; names first, for people ask by them."""
    named = [name for name in words.names(text) if name not in _CALENDAR]
    hidden = {words.fold(name) for name in (*named, *_CALENDAR)} | _WEAK
    common = [word for word in words.content(text) if word not in hidden and not word.isdigit()]
    common = [*_TOPICS.get(attribute(text), ()), *common]
    return {"subject": " ".join([*common[:2], *named[:1]]), "tags": [*named[:2], *common[:2]]}


class _Changes:
    """What one batch's statements come to, the newest value of each thing counting."""

    def __init__(self, related: Sequence[Memory]) -> None:
        self.related = related
        self.added: dict[str, dict[str, object]] = {}
        self.updated: dict[str, str] = {}

    def take(self, item: dict[str, object]) -> None:
        text = str(item["text"])
        if "of" in item:
            self.correct(str(item["of"]), str(item["value"]))
            return
        about = attribute(text)
        known = next((memory for memory in self.related if about and attribute(memory.text) == about), None)
        if known is None:
            self.added[about or text] = item
        elif not polarity.same(text, known.text):
            self.updated[known.id] = text

    def correct(self, of: str, value: str) -> None:
        """Another value for something of a named person, of whom more was said before ("my sister Mia's")."""
        wanted = re.sub(r"['’]s\b", "", of).lower()
        for about, item in self.added.items():
            if about.endswith(wanted):
                item["text"] = _with_value(str(item["text"]), value)
                return
        for memory in self.related:
            if attribute(memory.text).endswith(wanted):
                self.updated[memory.id] = _with_value(memory.text, value)
                return


def _with_value(sentence: str, value: str) -> str:
    """A sentence that says the same of something, but another value."""
    before, verb, _ = re.split(r"\b(is|are)\b", sentence, maxsplit=1)
    return f"{before}{verb} {value.strip(' .')}."


def _looked_up(finding: Finding, turn: Turn) -> list[object]:
    """What somebody asks to look up is an interest; what was found is a finding."""
    day = turn.at.date()
    items: list[object] = []
    query = " ".join(finding.query.split())
    if query:
        text = as_of(day, f"the user was interested in {query}.")
        items.append({"text": text, "kind": Kind.INTEREST, "importance": 3, **_labels(query)})
    first = _FIRST_SENTENCE.match(finding.text.strip())
    if first and len(first[0]) <= _MAX_FINDING_CHARS:
        told = first[0].strip(" .")
        if _POINTING.match(told):  # "It opens at seven" means nothing alone
            told = f"{query}: {told}" if query else ""
        if told:
            items.append(
                {"text": as_of(day, f"{told}."), "kind": Kind.FINDING, "importance": 2, **_labels(f"{query} {told}")}
            )
    return items


def helped(batch: Batch) -> list[str]:
    """Ids of memories that came up in a turn and whose news stands in its reply."""
    shown = {memory.id: memory for memory in batch.related}
    found: dict[str, None] = {}
    for turn in batch.turns:
        if turn.receipt is None:
            continue
        asked, answered = set(words.terms(turn.said)), set(words.terms(turn.heard_reply))
        for each in turn.receipt.recalled:
            if each.id in shown and (set(words.terms(shown[each.id].text)) - asked) & answered:
                found[each.id] = None
    return list(found)

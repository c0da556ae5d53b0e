"""Operations: check what a model or the rules answered, one operation at a time. Pure.

A bad operation is dropped and counted with its reason; the good ones beside it go on.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from typing import cast

from haru.journal import Dropped
from haru.memory import MAX_TEXT_CHARS, Kind, Memory
from haru.writer import dates, polarity
from haru.writer.answer import Answer
from haru.writer.batch import Batch, Proposal, ProposedAdd, ProposedRetire, ProposedUpdate
from haru.writer.fields import (
    Refused,
    as_fields,
    as_id,
    as_importance,
    as_kind,
    as_label,
    as_reason,
    as_sentence,
    as_subject,
    as_tags,
)
from haru.writer.polarity import Similar
from haru.writer.refusals import refusal
from haru.writer.safety import protected, weakened
from haru.writer.support import Support, support, telling

logger = logging.getLogger(__name__)

_ABOUT_A_PERSON = re.compile(r"\b(?:the )?user\b", re.IGNORECASE)


def check(answer: Answer, batch: Batch, *, most: int = 20, similar: Similar | None = None) -> Proposal:
    """The operations of an answer that may be carried out, and the reasons for those that may not."""
    return _Checks(batch, most, similar).proposal(answer)


class _Checks:
    """The checks of one batch."""

    def __init__(self, batch: Batch, most: int, similar: Similar | None) -> None:
        self.batch = batch
        self.most = most
        self.similar = similar
        self.shown = {memory.id: memory for memory in batch.related}
        self.adds: list[ProposedAdd] = []
        self.updates: dict[str, ProposedUpdate] = {}
        self.retires: dict[str, ProposedRetire] = {}
        self.rejected: list[Dropped] = []

    def proposal(self, answer: Answer) -> Proposal:
        # Changes come before additions: what an update says need not be added again.
        for verb, one in (("update", self.update), ("retire", self.retire), ("add", self.add)):
            for item in answer[verb]:
                try:
                    self.room()
                    one(item)
                except Refused as reason:
                    self.rejected.append(Dropped(verb=verb, reason=str(reason), id=reason.key))
        self.suspect()
        return Proposal(
            adds=tuple(self.adds),
            updates=tuple(self.updates.values()),
            retires=tuple(self.retires.values()),
            relevant=tuple(self.relevant(answer["relevant"])),
            rejected=tuple(self.rejected),
        )

    def suspect(self) -> None:
        """A fact that somebody just spoke of, retired with nothing in its place, may be a model's half answer."""
        if self.adds or self.updates:
            return
        for key in self.retires:
            if any(telling(self.shown[key].text) & telling(turn.said) for turn in self.batch.turns):
                logger.warning("suspicious: %s was just spoken of and is retired with nothing in its place", key)

    def room(self) -> None:
        if len(self.adds) + len(self.updates) + len(self.retires) >= self.most:
            raise Refused(f"more than {self.most} changes in a batch")

    def add(self, item: object) -> None:
        fields = as_fields(item)
        text, rests_on = self.text(fields)
        kind = as_kind(fields.get("kind"))
        if rests_on.by_finding and not _may_rest_on_finding(kind, text, rests_on):
            raise Refused("only looked-up text says so: that is no fact about a person")
        day = rests_on.said_in.at.date()
        if kind is Kind.FINDING and not dates.tells(text, day.year):
            text = self.length(dates.as_of(day, text))
        if any(polarity.same(text, other.text, self.similar) for other in self.adds):
            raise Refused("said twice in one answer")
        if self.known(text):
            return
        tags = as_tags(fields.get("tags"))
        self.adds.append(
            ProposedAdd(
                text=text,
                subject=as_subject(fields.get("subject"), tags, text),
                kind=kind,
                tags=tags,
                importance=as_importance(fields.get("importance"), kind),
                about=as_label(fields.get("about")),
                evidence=rests_on.evidence,
            )
        )

    def known(self, text: str) -> bool:
        """Whether a text is about what a shown memory says: a copy is dropped, its opposite takes its place."""
        for memory in self.batch.related:
            replacing = self.updates.get(memory.id)
            if replacing and polarity.same(text, replacing.text, self.similar):
                raise Refused("an update says so already")
            if replacing or memory.id in self.retires:
                continue
            if polarity.same(text, memory.text, self.similar):
                raise Refused("known already")
            if polarity.contradicts(text, memory.text):
                self.update({"id": memory.id, "text": text})
                return True
        return False

    def update(self, item: object) -> None:
        fields = as_fields(item)
        memory = self.changeable("update", fields.get("id"))
        text, rests_on = self.text(fields, memory)
        if rests_on.by_finding and not _may_rest_on_finding(memory.kind, text, rests_on):
            raise Refused("only looked-up text says so: that changes no fact about a person")
        if text == memory.text:
            raise Refused("an update that changes nothing")
        if protected(memory, self.batch.turns) and weakened(memory.text, text):
            raise Refused("it would weaken a safety fact that nobody took back", memory.id)
        tags = as_tags(fields.get("tags"))
        subject = as_subject(fields.get("subject"), tags, "")
        importance = fields.get("importance")
        self.updates[memory.id] = ProposedUpdate(
            id=memory.id,
            text=text,
            subject=subject,
            tags=tags,
            importance=None if importance is None else as_importance(importance, memory.kind),
            evidence=rests_on.evidence,
        )

    def retire(self, item: object) -> None:
        fields = cast("dict[str, object]", item) if isinstance(item, dict) else {"id": item}
        memory = self.changeable("retire", fields.get("id"))
        if protected(memory, self.batch.turns):
            raise Refused("it would remove a safety fact that nobody took back", memory.id)
        self.retires[memory.id] = ProposedRetire(id=memory.id, reason=as_reason(fields.get("reason")))

    def relevant(self, items: Iterable[object]) -> Iterable[str]:
        for item in dict.fromkeys(as_id(item) for item in items):
            if item in self.shown:
                yield item
            else:
                self.unknown("relevant", item)

    def changeable(self, verb: str, item: object) -> Memory:
        key = as_id(item)
        if key not in self.shown:
            self.unknown(verb, key)
            raise Refused("a memory that was not shown", key)
        if key in self.updates or key in self.retires:
            raise Refused("a second change to one memory", key)
        return self.shown[key]

    def unknown(self, verb: str, key: str) -> None:
        logger.warning("%s of %s ignored: it was not shown for this batch", verb, key or "an empty id")
        if verb == "relevant":
            self.rejected.append(Dropped(verb=verb, reason="a memory that was not shown", id=key))

    def text(self, fields: Mapping[str, object], changed: Memory | None = None) -> tuple[str, Support]:
        """A sentence that may be stored, its dates settled, and the turn that it rests on."""
        text = self.length(as_sentence(fields.get("text")))
        if reason := refusal(text):
            raise Refused(reason)
        known = telling(changed.text) if changed else frozenset[str]()
        before = self.batch.context[-1] if self.batch.context else None
        rests_on = support(text, self.batch.turns, before=before, known=known)
        if rests_on is None:
            raise Refused("nobody said so in these turns")
        settled = dates.settle(text, rests_on.said_in.at)
        if settled is None:
            raise Refused("a relative date that can't be settled")
        return self.length(settled), rests_on

    def length(self, text: str) -> str:
        if not text:
            raise Refused("no text")
        if len(text) > MAX_TEXT_CHARS:
            raise Refused(f"longer than {MAX_TEXT_CHARS} characters")
        return text


def _may_rest_on_finding(kind: Kind, text: str, rests_on: Support) -> bool:
    """Looked-up text may become a finding; what it says about a person counts only with that person's own words."""
    if kind is Kind.INTEREST:
        return rests_on.spoken
    return kind is Kind.FINDING and (rests_on.spoken or not _ABOUT_A_PERSON.search(dates.undated(text)))

"""Operations: check what a model or the rules answered, one operation at a time. Pure.

A bad operation is dropped and counted with its reason; the good ones beside it go on.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable, Mapping
from typing import cast

from haru import words
from haru.memory import MAX_TEXT_CHARS, Kind, Memory, encodable
from haru.writer import dates, polarity
from haru.writer.answer import Answer
from haru.writer.batch import Batch, Proposal, ProposedAdd, ProposedRetire, ProposedUpdate, Rejected
from haru.writer.polarity import Similar
from haru.writer.refusals import refusal
from haru.writer.support import Support, support, telling

logger = logging.getLogger(__name__)

MAX_TAGS = 8
MAX_TAG_CHARS = 40
MAX_SUBJECT_CHARS = 60

_NOBODY = frozenset({"", "user", "the user", "users", "the users", "household", "the household", "person", "speaker"})
_SAFETY = re.compile(
    r"allerg|anaphyla|epipen|medication|medicine|insulin|diabet|asthma|epilep|pacemaker|blood thinner|emergency",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:no longer|not|never|isn['’]?t|wasn['’]?t|don['’]?t|any ?more|wrong|mistake|outgr[eo]w|stopped|cured)\b",
    re.IGNORECASE,
)
_KINDS = {
    "hobby": Kind.INTEREST,
    "hobbyhorse": Kind.INTEREST,
    "like": Kind.PREFERENCE,
    "dislike": Kind.PREFERENCE,
    "people": Kind.PERSON,
    "relationship": Kind.PERSON,
    "family": Kind.PERSON,
    "date": Kind.EVENT,
    "appointment": Kind.PLAN,
    "goal": Kind.PLAN,
    "todo": Kind.PLAN,
    "task": Kind.PROJECT,
    "lookup": Kind.FINDING,
    "search": Kind.FINDING,
}
"""What models write instead of the kinds they were given."""


class Dropped(Exception):
    """One operation is not carried out."""


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
        self.rejected: list[Rejected] = []

    def proposal(self, answer: Answer) -> Proposal:
        # Changes come before additions: what an update says need not be added again.
        for verb, one in (("update", self.update), ("retire", self.retire), ("add", self.add)):
            for item in answer[verb]:
                try:
                    self.room()
                    one(item)
                except Dropped as reason:
                    self.rejected.append(Rejected(verb=verb, reason=str(reason)))
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
            if any(telling(self.shown[key].text) & frozenset(words.terms(turn.said)) for turn in self.batch.turns):
                logger.warning("suspicious: %s was just spoken of and is retired with nothing in its place", key)

    def room(self) -> None:
        if len(self.adds) + len(self.updates) + len(self.retires) >= self.most:
            raise Dropped(f"more than {self.most} changes in a batch")

    def add(self, item: object) -> None:
        fields = _fields(item)
        text, rests_on = self.text(fields)
        kind = _kind(fields.get("kind"))
        if rests_on.by_finding and kind not in {Kind.FINDING, Kind.INTEREST}:
            raise Dropped("only looked-up text says so: that is no fact about a person")
        day = rests_on.said_in.at.date()
        if kind is Kind.FINDING and not dates.tells(text, day.year):
            text = self.length(dates.as_of(day, text))
        if any(polarity.same(text, other.text, self.similar) for other in self.adds):
            raise Dropped("said twice in one answer")
        known = self.known(text)
        if known:
            return
        tags = _tags(fields.get("tags"))
        self.adds.append(
            ProposedAdd(
                text=text,
                subject=_subject(fields.get("subject"), tags, text),
                kind=kind,
                tags=tags,
                importance=_importance(fields.get("importance"), kind),
                about=_line(fields.get("about"), MAX_SUBJECT_CHARS),
                evidence=rests_on.evidence,
            )
        )

    def known(self, text: str) -> bool:
        """Whether a text is about what a shown memory says: a copy is dropped, its opposite takes its place."""
        for memory in self.batch.related:
            replacing = self.updates.get(memory.id)
            if replacing and polarity.same(text, replacing.text, self.similar):
                raise Dropped("an update says so already")
            if replacing or memory.id in self.retires:
                continue
            if polarity.same(text, memory.text, self.similar):
                raise Dropped("known already")
            if polarity.contradicts(text, memory.text):
                self.update({"id": memory.id, "text": text})
                return True
        return False

    def update(self, item: object) -> None:
        fields = _fields(item)
        memory = self.changeable("update", fields.get("id"))
        text, rests_on = self.text(fields, memory)
        if rests_on.by_finding and memory.kind not in {Kind.FINDING, Kind.INTEREST}:
            raise Dropped("only looked-up text says so: that changes no fact about a person")
        if text == memory.text:
            raise Dropped("an update that changes nothing")
        if self.protected(memory) and not telling(memory.text) <= telling(text):
            raise Dropped("it would weaken a safety fact that nobody took back")
        tags = _tags(fields.get("tags"))
        subject = _subject(fields.get("subject"), tags, "")
        importance = fields.get("importance")
        self.updates[memory.id] = ProposedUpdate(
            id=memory.id,
            text=text,
            subject=subject,
            tags=tags,
            importance=None if importance is None else _importance(importance, memory.kind),
            evidence=rests_on.evidence,
        )

    def retire(self, item: object) -> None:
        fields = cast("dict[str, object]", item) if isinstance(item, dict) else {"id": item}
        memory = self.changeable("retire", fields.get("id"))
        if self.protected(memory):
            raise Dropped("it would remove a safety fact that nobody took back")
        self.retires[memory.id] = ProposedRetire(id=memory.id, reason=_line(fields.get("reason"), 200))

    def relevant(self, items: Iterable[object]) -> Iterable[str]:
        for item in dict.fromkeys(_id(item) for item in items):
            if item in self.shown:
                yield item
            else:
                self.unknown("relevant", item)

    def changeable(self, verb: str, item: object) -> Memory:
        key = _id(item)
        if key not in self.shown:
            self.unknown(verb, key)
            raise Dropped("a memory that was not shown")
        if key in self.updates or key in self.retires:
            raise Dropped("a second change to one memory")
        return self.shown[key]

    def unknown(self, verb: str, key: str) -> None:
        logger.warning("%s of %s ignored: it was not shown for this batch", verb, key or "an empty id")
        if verb == "relevant":
            self.rejected.append(Rejected(verb=verb, reason="a memory that was not shown"))

    def text(self, fields: Mapping[str, object], changed: Memory | None = None) -> tuple[str, Support]:
        """A sentence that may be stored, its dates settled, and the turn that it rests on."""
        text = self.length(_sentence(fields.get("text")))
        if reason := refusal(text):
            raise Dropped(reason)
        known = telling(changed.text) if changed else frozenset[str]()
        rests_on = support(text, self.batch.turns, known=known)
        if rests_on is None:
            raise Dropped("nobody said so in these turns")
        settled = dates.settle(text, rests_on.said_in.at)
        if settled is None:
            raise Dropped("a relative date that can't be settled")
        return self.length(settled), rests_on

    def length(self, text: str) -> str:
        if not text:
            raise Dropped("no text")
        if len(text) > MAX_TEXT_CHARS:
            raise Dropped(f"longer than {MAX_TEXT_CHARS} characters")
        return text

    def protected(self, memory: Memory) -> bool:
        """A safety fact, unless a person took it back in these turns."""
        if not _SAFETY.search(f"{memory.text} {memory.subject}"):
            return False
        about = telling(memory.text)
        return not any(
            _TAKEN_BACK.search(turn.said) and about & frozenset(words.terms(turn.said)) for turn in self.batch.turns
        )


def _fields(item: object) -> Mapping[str, object]:
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, dict):
        return {key.lower(): value for key, value in cast("dict[str, object]", item).items()}
    raise Dropped("not an object")


def _sentence(value: object) -> str:
    """One clean line; of an object, its one longer string."""
    if isinstance(value, dict):
        strings = [each for each in cast("dict[str, object]", value).values() if isinstance(each, str) and " " in each]
        value = strings[0] if len(strings) == 1 else None
    if not isinstance(value, str):
        raise Dropped("no text")
    return _line(value, 10 * MAX_TEXT_CHARS)


def _line(value: object, most: int) -> str:
    if not isinstance(value, str):
        return ""
    return " ".join(str(encodable(value)).replace("\ufffd", "").split())[:most]


def _id(value: object) -> str:
    if isinstance(value, dict):
        value = cast("dict[str, object]", value).get("id")
    return _line(value if isinstance(value, str) else "" if value is None else str(value), 100)


def _tags(value: object) -> tuple[str, ...]:
    items: list[object] = cast("list[object]", value) if isinstance(value, list) else []
    if isinstance(value, str):
        items = [*re.split(r"[,;]", value)]
    lines = (_line(each, MAX_TAG_CHARS) for each in items)
    return tuple(dict.fromkeys(line for line in lines if line))[:MAX_TAGS]


def _subject(value: object, tags: tuple[str, ...], text: str) -> str:
    """A subject that search can match: "user" is true of every memory."""
    given = _line(value, MAX_SUBJECT_CHARS)
    plain = re.sub(r"['’]s\b|[^\w\s]", "", given).strip().lower()
    if plain not in _NOBODY:
        return given
    useful = [tag for tag in tags if tag.lower() not in _NOBODY]
    return " ".join(useful[:3]) if useful else " ".join(words.content(text)[:4])


def _kind(value: object) -> Kind:
    name = value.strip().lower() if isinstance(value, str) else ""
    try:
        return Kind(name)
    except ValueError:
        return _KINDS.get(name, Kind.FACT)


def _importance(value: object, kind: Kind) -> int:
    """A whole number from 1 to 5; the kind's usual one where the value is none."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return kind.usual_importance
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return kind.usual_importance
    return max(1, min(5, round(value)))

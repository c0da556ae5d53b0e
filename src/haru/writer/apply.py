"""Apply: from a checked proposal to one journal entry that says all of it. Pure.

Ids are derived from what a memory rests on, and every count is written as its new value, so that doing it twice is
the same as doing it once.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from haru.chatlog import Turn
from haru.forgotten import Forgotten
from haru.journal import Change, Dropped, Entry
from haru.learning import learned
from haru.memory import Evidence, Feedback, Memory, SearchRef, Status, derived_id
from haru.writer.batch import Batch, Proposal, ProposedAdd

_MOST_EVIDENCE = 5


def touched(batch: Batch, proposal: Proposal) -> list[str]:
    """Ids of all memories that a proposal would touch: to be read anew before it is carried out."""
    changed = [each.id for each in (*proposal.updates, *proposal.retires)]
    return list(dict.fromkeys([*changed, *proposal.relevant, *(new_id(batch, each) for each in proposal.adds)]))


def new_id(batch: Batch, add: ProposedAdd) -> str:
    """The id of a memory to be: the same whenever the same turns say the same."""
    turns = add.evidence.turns if add.evidence else tuple(turn.id for turn in batch.turns)
    return derived_id("mem", batch.session, *turns, add.text)


class Plan:
    """What a proposal comes to, given the memories as they are now."""

    def __init__(
        self,
        batch: Batch,
        proposal: Proposal,
        current: Mapping[str, Memory],
        forgotten: Forgotten | None,
        now: datetime,
    ) -> None:
        self._batch = batch
        self._proposal = proposal
        self._forgotten = forgotten
        self._now = now
        self._rows = dict(current)
        self._shown = {memory.id: memory for memory in batch.related}
        self._changes: list[Change] = []
        self._dropped = list(proposal.rejected)

    def entry(self, *, turns: tuple[str, ...], extractor: str) -> Entry:
        """The entry to commit: ``turns`` are done with it, those that were not shown too."""
        before = dict(self._rows)
        self._update()
        self._retire()
        self._add()
        feedback = self._use()
        puts = tuple(row for key, row in self._rows.items() if before.get(key) != row)
        return Entry(
            id=derived_id("j", self._batch.session, *turns),
            at=self._now,
            by="writer",
            session=self._batch.session,
            turns=turns,
            puts=puts,
            changes=tuple(self._changes),
            feedback=tuple(feedback),
            relevant=self._proposal.relevant,
            dropped=tuple(self._dropped),
            extractor=extractor,
        )

    def _update(self) -> None:
        for change in self._proposal.updates:
            row = self._unchanged("update", change.id)
            if row is None or self._blocked("update", change.text, change.evidence):
                continue
            evidence = (*row.evidence, *([change.evidence] if change.evidence else []))[-_MOST_EVIDENCE:]
            self._rows[row.id] = row.changed(
                text=change.text,
                subject=change.subject or row.subject,
                tags=change.tags or row.tags,
                importance=change.importance or row.importance,
                evidence=evidence,
                updated_at=self._said_at(change.evidence),
            )
            self._changes.append(Change(verb="update", id=row.id))

    def _retire(self) -> None:
        for change in self._proposal.retires:
            if row := self._unchanged("retire", change.id):
                self._rows[row.id] = row.changed(status=Status.RETIRED, updated_at=self._now)
                self._changes.append(Change(verb="retire", id=row.id, reason=change.reason))

    def _add(self) -> None:
        for new in self._proposal.adds:
            key = new_id(self._batch, new)
            if key in self._rows:
                self._dropped.append(Dropped(verb="add", reason="there already", id=key))
                continue
            if self._blocked("add", new.text, new.evidence):
                continue
            said_at = self._said_at(new.evidence)
            self._rows[key] = Memory(
                id=key,
                text=new.text,
                subject=new.subject,
                kind=new.kind,
                tags=new.tags,
                importance=new.importance,
                about=new.about,
                person=self._turn(new.evidence).person,
                created_at=said_at,
                updated_at=said_at,
                source=self._batch.session,
                evidence=(new.evidence,) if new.evidence else (),
            )
            self._changes.append(Change(verb="add", id=key))

    def _use(self) -> list[Feedback]:
        """A memory that helped is counted once a batch, and each search that found it hears of it."""
        events: list[Feedback] = []
        for key in self._proposal.relevant:
            row = self._rows.get(key)
            if row is None:
                continue
            used_at = self._now
            queries = learned(row.expected_queries, self._asked(key))
            self._rows[key] = row.changed(use_count=row.use_count + 1, last_used_at=used_at, expected_queries=queries)
            self._changes.append(Change(verb="use", id=key))
            for ref, position in sorted(self._surfaced(key).items(), key=lambda item: item[0].query_id):
                events.append(
                    Feedback(
                        id=derived_id("f", ref.query_id, key), memory_id=key, ref=ref, position=position, at=used_at
                    )
                )
        return events

    def _asked(self, key: str) -> list[str]:
        """The questions that the memory came up for."""
        receipts = (turn.receipt for turn in self._batch.turns if turn.receipt)
        return [receipt.query for receipt in receipts if any(each.id == key for each in receipt.recalled)]

    def _surfaced(self, key: str) -> dict[SearchRef, int]:
        return {
            each.ref: each.position
            for turn in self._batch.turns
            if turn.receipt
            for each in turn.receipt.recalled
            if each.id == key and each.ref and each.ref.query_id
        }

    def _unchanged(self, verb: str, key: str) -> Memory | None:
        """The row, if it still says what the extractor was shown: a person's edit meanwhile must not be lost."""
        row, shown = self._rows.get(key), self._shown.get(key)
        if row is None or shown is None or row.status is not Status.ACTIVE or row.text != shown.text:
            self._dropped.append(Dropped(verb=verb, reason="changed or gone meanwhile", id=key))
            return None
        return row

    def _blocked(self, verb: str, text: str, evidence: Evidence | None) -> bool:
        turns = evidence.turns if evidence else ()
        if self._forgotten and self._forgotten.blocks(text, turns=turns, said_at=self._said_at(evidence)):
            self._dropped.append(Dropped(verb=verb, reason="forgotten at a person's wish"))
            return True
        return False

    def _turn(self, evidence: Evidence | None) -> Turn:
        wanted = evidence.turns if evidence else ()
        return next((turn for turn in self._batch.turns if turn.id in wanted), self._batch.turns[-1])

    def _said_at(self, evidence: Evidence | None) -> datetime:
        return self._turn(evidence).at

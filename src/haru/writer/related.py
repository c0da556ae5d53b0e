"""Related: the memories that have to do with a batch, for the extractor to change or leave alone."""

from __future__ import annotations

from collections.abc import Sequence

from haru import words
from haru.chatlog import Turn
from haru.memory import Memory, Status
from haru.ports import MemoryIndex

_HITS_A_TURN = 5
_PAGE = 200


async def related(index: MemoryIndex, turns: Sequence[Turn], most: int = 40) -> list[Memory]:
    """At most ``most`` active memories that have to do with these turns.

    First those that came up in them, then what a search for each finds (other words for the same thing too), then by
    shared words and importance.

    Raises:
        haru.errors.IndexFailure: the index can't say; the batch must wait, or it would double what is known.
    """
    came_up = [each.id for turn in turns if turn.receipt for each in turn.receipt.recalled]
    found = {memory.id: memory for memory in await index.get(list(dict.fromkeys(came_up)))}
    for turn in turns:
        if len(found) >= most:
            break
        for hit in (await index.search(turn.said, size=_HITS_A_TURN)).hits:
            found.setdefault(hit.memory.id, hit.memory)
    if len(found) < most:
        said = {term for turn in turns for term in words.terms(turn.said)}
        listed = (await index.page(limit=_PAGE)).memories
        by_words = sorted(listed, key=lambda memory: (-len(said & set(words.terms(memory.text))), -memory.importance))
        for memory in by_words:
            found.setdefault(memory.id, memory)
    return [memory for memory in found.values() if memory.status is Status.ACTIVE][:most]

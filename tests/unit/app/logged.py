"""Turns put into a home folder's log, as a conversation would leave them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from haru.chatlog import ChatLog, SessionEnd, Turn

THEN = datetime.now(UTC) - timedelta(hours=1)


def logged(home: Path, *said: str, session: str = "s-test", ended: bool = True) -> list[Turn]:
    """Write what was said, an hour ago, and end the session."""
    turns = [
        Turn(session=session, at=THEN + timedelta(minutes=number), said=words, reply="All right.")
        for number, words in enumerate(said)
    ]

    async def write() -> None:
        log = ChatLog(home / "log", now=lambda: THEN)
        for turn in turns:
            await log.append(turn)
        if ended:
            await log.append(SessionEnd(session=session, at=THEN + timedelta(minutes=len(said))))
        await log.aclose()

    asyncio.run(write())
    return turns

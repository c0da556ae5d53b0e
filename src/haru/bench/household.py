"""Household: made-up memories and questions, as many as wanted, the same every time."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from haru.memory import Kind, Memory, Status

_NAMES = """
    Ana Ben Carla Dario Elena Felix Greta Hugo Ida Jonas Katrin Lena Milo Nora Oskar Paula Quinn Rosa Stefan Tilda Uwe
    Vera Wim Xenia Yara Zoe Amari Biscuit Mochi Caitlin Robin Theo Priya Marta Ivan Olga Hana Kenji Aiko Omar Leila
    """.split()  # noqa: SIM905 - a page of words reads better than a page of quotes
_WHO = """
    wife husband sister brother daughter son cousin neighbor dentist doctor teacher friend boss aunt uncle
    """.split()  # noqa: SIM905
_VERBS = """
    likes hates collects repaired bought lost painted planted borrowed sold cooked ordered cleaned wants found
    """.split()  # noqa: SIM905
_THINGS = """
    bicycle cello garden kitchen attic boiler hedge rowing boat camera tomato plant passport locker ladder blanket
    oven heater lamp carpet guitar violin piano tent kayak skis helmet jacket raincoat umbrella suitcase wallet key
    drill hammer saw workbench greenhouse compost lawn fence gate roof gutter chimney cellar freezer fridge kettle
    teapot mug plate almond peanut olive risotto curry bread cheese coffee tea juice cake honey jam salmon mushroom
    """.split()  # noqa: SIM905
_PLACES = """
    Denver Boise Leeds Lyon Malmö Omsk Porto Turin Ghent Graz Basel Bergen Cork Delft Essen Fargo Galway
    """.split()  # noqa: SIM905
_WHEN = [
    "on Tuesdays",
    "every morning",
    "in spring",
    "since June",
    "before breakfast",
    "after work",
    "at weekends",
    "in the evening",
]
_FILLERS = ("hey Haru, um, can you tell me about", "do you remember", "so like I was wondering", "please remind me of")
_NOW = datetime(2026, 12, 1, tzinfo=UTC)


def memories(count: int, seed: int = 7) -> list[Memory]:
    """Memories of about twelve words; one in ten retired. Rare words come from a number at the end."""
    chance = random.Random(seed)
    return [_memory(number, chance) for number in range(count)]


def _memory(number: int, chance: random.Random) -> Memory:
    who, name, thing = chance.choice(_WHO), chance.choice(_NAMES), chance.choice(_THINGS)
    other, place = chance.choice(_THINGS), chance.choice(_PLACES)
    rare = f"{thing[:3]}{other[:3]}{chance.randrange(max(number, 1) + 1)}"
    text = (
        f"The user's {who} {name} {chance.choice(_VERBS)} the {thing} and the {other} in {place} "
        f"{chance.choice(_WHEN)}, near {rare}."
    )
    moment = _NOW - timedelta(hours=chance.randrange(20_000))
    return Memory(
        id=f"mem-{number:08x}",
        text=text,
        subject=f"{who} {name} {thing}",
        kind=chance.choice(list(Kind)),
        tags=(name, thing),
        importance=chance.randint(1, 5),
        status=Status.RETIRED if chance.random() < 0.1 else Status.ACTIVE,
        created_at=moment,
        updated_at=moment,
    )


def questions(kept: list[Memory], count: int, seed: int = 11) -> list[str]:
    """Spoken questions with some words of a memory, and filler around them."""
    return [question for question, _ in asked(kept, count, seed)]


def asked(kept: list[Memory], count: int, seed: int = 11) -> list[tuple[str, Memory]]:
    """The same, each with the memory that it asks for."""
    chance = random.Random(seed)
    found: list[tuple[str, Memory]] = []
    for number in range(count):
        memory = chance.choice(kept)
        words = memory.text.rstrip(".").replace(",", "").split()[2:]
        chosen = sorted(chance.sample(range(len(words)), k=min(6, len(words))))
        found.append((f"{_FILLERS[number % len(_FILLERS)]} {' '.join(words[n] for n in chosen)}", memory))
    return found

"""Which real questions a memory keeps, and what they move."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from haru.corpus import Corpus
from haru.coverage import closest, stored
from haru.embed.static import StaticEmbedder
from haru.learning import MOST_QUERIES, learned
from haru.memory import Memory
from haru.scoring import document, question, read

Make = Callable[..., Memory]


@given(st.lists(st.text(max_size=40), max_size=12), st.lists(st.text(max_size=40), max_size=12))
def test_the_newest_few_are_kept(known: list[str], asked: list[str]) -> None:
    """Never more, none twice, whatever was said."""
    kept = learned(learned((), known), asked)
    assert len(kept) == len(set(kept)) <= MOST_QUERIES
    if fresh := learned((), asked):
        assert kept[-1] == fresh[-1]


def test_a_wrong_judgment_is_pushed_out() -> None:
    """Five later ones are enough."""
    kept = learned(("where is the drill",), [f"who feeds the cat number {n}" for n in range(MOST_QUERIES)])
    assert not any("drill" in query for query in kept)


def test_a_rambling_question_is_not_learned() -> None:
    """It is about more than one thing."""
    assert learned((), ["cat dog bird fish horse cow hen goat sheep duck goose pig mouse"]) == ()


def test_a_question_like_one_that_it_answered_finds_it(memory: Make) -> None:
    """In other words: by the parts of the newest two, at half their length."""
    embedder = StaticEmbedder()
    plain = memory("Greta's folder is in the drawer.")
    taught = memory(
        "Carmen's folder is in the drawer.", expected_queries=("fridge", "songs at dinner", "music for the party")
    )
    readings = read([plain, taught], embedder)
    lengths = [np.linalg.norm(each.tokens, axis=1).round(3).tolist() for each in readings]
    assert lengths[1] == lengths[0] + [0.5] * 4
    asked = embedder.read(["which melodies"], "query")[0].tokens
    without, with_it = closest(asked, [stored(each.tokens) for each in readings])[:, 0]
    assert with_it > without + 0.1


def test_words_of_questions_it_answered_find_it_and_count_half(memory: Make) -> None:
    """It comes up for them, behind a memory that says them."""
    taught = memory("The user's wife is called Carmen.", expected_queries=("spouse",))
    other = memory("The user's spouse visa is in the drawer.")
    untaught = memory("The user's dog is called Biscuit.")
    made: Corpus[str] = Corpus((each.id, document(each)) for each in (taught, other, untaught))
    assert [each.key for each in made.rank(question("my spouse"), size=5, now_s=0.0)] == [other.id]
    alone: Corpus[str] = Corpus((each.id, document(each)) for each in (taught, untaught))
    assert [each.key for each in alone.rank(question("my spouse"), size=5, now_s=0.0)] == [taught.id]


def test_a_learned_word_is_found_beside_its_sound_alike(memory: Make) -> None:
    """That somebody's name sounds like it takes nothing from what was learned."""
    taught = memory("The user's niece is called Ann.", expected_queries=("kaitlyn",))
    named = memory("The user's neighbor Caitlin fixes bikes.")
    made: Corpus[str] = Corpus((each.id, document(each)) for each in (taught, named))
    assert {each.key for each in made.rank(question("Kaitlyn"), size=5, now_s=0.0)} == {taught.id, named.id}

"""The one scorer: exact, the same however a corpus came to be, and within its bounds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from haru import postings
from haru.corpus import Background, Corpus
from haru.embed.static import StaticEmbedder
from haru.memory import Memory
from haru.ports import Reading
from haru.postings import Postings
from haru.scoring import Document, Question, Weights, document, question

NOW_S = datetime(2026, 12, 1, tzinfo=UTC).timestamp()
WORDS = [f"w{n}" for n in range(12)]
documents = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), min_size=1, max_size=40)
asked = st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, max_size=6, unique=True)
ANYTHING = Weights(lexical=1.0, meaning=0.0, coverage=0.0, floor=0.0, company=0.0)
Make = Callable[..., Memory]


def corpus(texts: list[list[str]], **options: object) -> Corpus[int]:
    made = ((n, Document(tuple(terms))) for n, terms in enumerate(texts))
    return Corpus(made, weights=ANYTHING, **options)  # type: ignore[arg-type]


def ask(*terms: str) -> Question:
    return Question(tuple((term, "") for term in terms))


def by_hand(texts: list[list[str]], terms: list[str]) -> list[float]:
    """BM25 as it is written in the books, memory by memory."""
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        total = 0.0
        for term in terms:
            holding = sum(term in each for each in texts)
            if term in text:
                count = text.count(term)
                norm = postings.K1 * (1 - postings.B + postings.B * len(text) / max(mean, 1.0))
                total += postings.idf(len(texts), holding) * count * (postings.K1 + 1) / (count + norm)
        scores.append(total)
    return scores


@settings(max_examples=200, deadline=None)
@given(documents, asked)
def test_bm25_is_exact(texts: list[list[str]], terms: list[str]) -> None:
    """The fast way finds what the slow way finds, in the same order of score."""
    expected = by_hand(texts, terms)
    found = corpus(texts).rank(ask(*terms), size=50, now_s=NOW_S)
    assert {each.key for each in found} == {n for n, score in enumerate(expected) if score > 0}
    by_score = [expected[each.key] for each in found]
    # importance and recency are alike here, so that the order is that of BM25 alone
    assert all(earlier >= later - 1e-4 for earlier, later in pairwise(by_score))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 199), min_size=1, max_size=60, unique=True), min_size=1, max_size=6),
    st.integers(1, 30),
    st.integers(0, 10**6),
)
def test_the_best_are_the_best(slots: list[list[int]], wanted: int, seed: int) -> None:
    """MaxScore passes over nothing that belongs to the best."""
    chance = np.random.default_rng(seed)
    matched = [
        (
            float(chance.uniform(0.1, 3.0)),
            Postings(np.array(sorted(each), np.int32), chance.uniform(0.1, 1.9, len(each)).astype(np.float32)),
        )
        for each in slots
    ]
    allowed = chance.random(200) < 0.8
    total = np.zeros(200)
    for weight, each in matched:
        total[each.slots] += weight * each.impact
    total[~allowed] = 0.0
    best = postings.best(matched, allowed, wanted)
    assert list(best) == sorted(best)
    assert len(best) >= min(wanted, int((total > 0).sum()))
    left_out = np.setdiff1d(np.flatnonzero(total > 0), best)
    if len(left_out):
        assert total[left_out].max() <= total[best].min() + 1e-4


@settings(max_examples=150, deadline=None)
@given(documents, documents, st.data(), asked)
def test_it_is_the_same_however_it_came_to_be(
    first: list[list[str]], then: list[list[str]], data: st.DataObject, terms: list[str]
) -> None:
    """Built at once, or memory by memory with replacing and dropping in between: the same memories come back."""
    grown = corpus(first)
    held = dict(enumerate(first))
    for n, text in enumerate(then):
        grown.put(n, Document(tuple(text)))
        held[n] = text
    for key in data.draw(st.lists(st.sampled_from(sorted(held)), max_size=5, unique=True)):
        grown.drop(key)
        del held[key]
    assert len(grown) == len(held)
    fresh: Corpus[int] = Corpus(((key, Document(tuple(text))) for key, text in held.items()), weights=ANYTHING)
    found = {each.key for each in grown.rank(ask(*terms), size=100, now_s=NOW_S)}
    assert found == {each.key for each in fresh.rank(ask(*terms), size=100, now_s=NOW_S)}


def test_a_few_out_of_many_are_ranked_by_the_whole_stores_words(memory: Make) -> None:
    """Candidates of a full-text search score as they would in the full arrays."""
    texts = [
        "The user's dog is called Biscuit.",
        "The user's dog Biscuit likes rice and peas in the evening.",
        *(f"The user has thing {n}." for n in range(50)),
    ]
    made = [(n, document(memory(text))) for n, text in enumerate(texts)]
    whole: Corpus[int] = Corpus(made)
    holding = {term: sum(term in each.terms for _, each in made) for term in ("dog", "biscuit")}
    length = sum(len(each.terms) for _, each in made) / len(made)
    few: Corpus[int] = Corpus(made[:2], background=Background(len(made), holding, length))
    wanted = question("my dog Biscuit")
    ranked = [whole.rank(wanted, size=2, now_s=NOW_S), few.rank(wanted, size=2, now_s=NOW_S)]
    assert [each.key for each in ranked[0]] == [each.key for each in ranked[1]] == [0, 1]
    assert np.allclose([each.score for each in ranked[0]], [each.score for each in ranked[1]], atol=1e-5)


def test_importance_use_and_recency_order_hits_and_make_none(memory: Make) -> None:
    """Each within its bound."""
    old = datetime(2025, 1, 1, tzinfo=UTC)
    plain = memory("The user has a boat at the lake.", updated_at=old, created_at=old, importance=1)
    loved = memory(
        "The user has a boat at the pond.",
        importance=5,
        use_count=50,
        updated_at=old + timedelta(days=1),
        created_at=old,
    )
    other = memory("The user's name is Robin.", importance=5, use_count=900)
    made: Corpus[str] = Corpus((each.id, document(each)) for each in (plain, loved, other))
    found = made.rank(question("where is my boat"), size=10, now_s=NOW_S)
    assert [each.key for each in found] == [loved.id, plain.id]
    assert found[0].score < 1.2 * found[1].score


def test_another_persons_memories_stay_out() -> None:
    """Where a person is asked for."""
    made: Corpus[int] = Corpus([(1, Document(("tea",), person="ana")), (2, Document(("tea",), person="ben"))])
    wanted = question("tea", person="ana")
    assert [each.key for each in made.rank(wanted, size=10, now_s=NOW_S)] == [1]


def test_meaning_alone_must_be_strong() -> None:
    """A vector that is a little like the question brings nothing; one that is much like it does."""
    vectors = np.array([[1.0, 0.0], [0.3, 0.954]], np.float32)
    made: Corpus[int] = Corpus([(n, Document((f"word{n}",), vector=vectors[n])) for n in range(2)], dim=2)
    wanted = Question((("unknown", ""),), Reading(np.array([1.0, 0.0], np.float32), np.zeros((0, 2), np.float32)))
    assert [each.key for each in made.rank(wanted, size=10, now_s=NOW_S)] == [0]


def test_an_empty_corpus_and_an_empty_question() -> None:
    """Nothing finds nothing."""
    assert Corpus[int]().rank(ask("w1"), size=10, now_s=NOW_S) == []
    assert corpus([["w1"]]).rank(Question(()), size=10, now_s=NOW_S) == []


def test_a_memory_that_changes_often_is_found_as_well_as_before(memory: Make) -> None:
    """Each use that is counted puts it anew: its words must not look common for that."""
    made: Corpus[str] = Corpus((f"m{n}", document(memory(f"The user has thing {n}."))) for n in range(50))
    for count in range(200):
        made.put("dog", document(memory("The user's dog is called Biscuit.", use_count=count)))
    found = made.rank(question("the unheard dog Biscuit"), size=5, now_s=NOW_S)
    assert [each.key for each in found] == ["dog"]


def test_a_word_and_its_vector_are_one_part_in_every_language() -> None:
    """A part that was not recognised as a content word would count as a function word besides."""
    table = StaticEmbedder()
    for text in ("where are the bicycles of my brother", "wo sind die Fahrräder von meinem Bruder"):
        asked_for = question(text, table.read([text], "query")[0])
        assert set(asked_for.parts) == set(range(len(asked_for.terms)))

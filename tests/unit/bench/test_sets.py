"""Haru's own sets are what they say."""

from __future__ import annotations

from collections import Counter

from haru import words
from haru.bench import sets
from haru.memory import Memory

KEPT = {memory.id: memory for memory in sets.household()}


def terms(memory: Memory) -> set[str]:
    return set(words.terms(" ".join([memory.text, memory.subject, memory.about, *memory.tags])))


def test_they_are_large_enough() -> None:
    """Thirty pairs among a hundred and fifty others are the least that says anything."""
    answers = {each.answer for each in sets.paraphrases()}
    assert len(answers) >= 30
    assert len(KEPT) - len(answers) >= 150


def test_every_answer_is_there_and_nothing_twice() -> None:
    """Keys, sentences and questions are each their own."""
    assert {each.answer for each in (*sets.paraphrases(), *sets.keywords())} <= KEPT.keys()
    asked = [*(each.question for each in (*sets.paraphrases(), *sets.keywords())), *sets.unknown()]
    for texts in (asked, [each.text for each in sets.small_talk()], [memory.text for memory in KEPT.values()]):
        assert [text for text, count in Counter(texts).items() if count > 1] == []


def test_paraphrases_share_no_content_word_with_their_answer() -> None:
    """Else they would say nothing of meaning."""
    shared = {
        each.question: common
        for each in sets.paraphrases()
        if (common := {term for term, _ in words.query_terms(each.question)} & terms(KEPT[each.answer]))
    }
    assert shared == {}


def test_keyword_questions_share_one() -> None:
    """Else they would be paraphrases."""
    assert all(
        {term for term, _ in words.query_terms(each.question)} & terms(KEPT[each.answer]) for each in sets.keywords()
    )


def test_subjects_never_name_the_user() -> None:
    """As in every memory."""
    assert not [memory.id for memory in KEPT.values() if "user" in memory.subject.lower()]

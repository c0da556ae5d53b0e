"""Guards: the smaller holes that a wrong or hostile answer would slip through."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haru.chatlog import Finding, Turn
from haru.embed.static import StaticEmbedder
from haru.errors import ReplyUnusable
from haru.memory import Kind, Memory
from haru.testing.model import ScriptedModel
from haru.writer import dates
from haru.writer.answer import find
from haru.writer.batch import Batch, Proposal
from haru.writer.extract import ModelExtractor
from haru.writer.polarity import contradicts, same
from haru.writer.prompt import MAX_CHARS, fits, messages

EVENING = datetime(2026, 12, 1, 18, 0, tzinfo=timezone(timedelta(hours=-7)))
"""A Tuesday."""
Make = Callable[..., Memory]


def turn(said: str, **fields: object) -> Turn:
    return Turn.model_validate({"session": "s", "at": EVENING, "said": said, **fields})


async def extract(
    answer: dict[str, object],
    *turns: Turn,
    related: Sequence[Memory] = (),
    context: tuple[Turn, ...] = (),
) -> Proposal:
    batch = Batch(session="s", turns=turns, related=tuple(related), context=context, now=EVENING)
    return await ModelExtractor(ScriptedModel([json.dumps(answer)])).extract(batch)


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        ("Peanuts are fine, but I'm allergic to penicillin.", False),
        ("I stopped by the shop. I'm allergic to penicillin.", False),
        ("I'm allergic to penicillin, not to ibuprofen.", False),
        ("Am I no longer allergic to penicillin?", False),
        ("I'm not allergic to penicillin any more.", True),
        ("The doctor says I was never allergic, the penicillin test was wrong.", True),
    ],
)
async def test_a_safety_fact_is_not_denied_by_a_model(memory: Make, said: str, changed: bool) -> None:
    """The same words with a "not" weaken it as much as leaving it out, whichever way they come in."""
    fact = memory("The user is allergic to penicillin.")
    denied = "The user is not allergic to penicillin."
    for answer in ({"update": [{"id": fact.id, "text": denied}]}, {"add": [{"text": denied}]}):
        proposal = await extract(answer, turn(said), related=[fact])
        assert [each.text for each in proposal.updates] == ([denied] if changed else [])
        assert proposal.adds == ()
        assert changed or [each.id for each in proposal.rejected] == [fact.id]


async def test_what_is_no_id_is_not_repeated(caplog: pytest.LogCaptureFixture) -> None:
    """Ids that were not shown are named; somebody's words in their place are not."""
    answer = {"retire": [{"id": "mem-nope"}, {"id": "my pin is four eight two one"}]}
    with caplog.at_level(logging.WARNING):
        proposal = await extract(answer, turn("hello there, nice garden"))
    assert [each.id for each in proposal.rejected] == ["mem-nope", "(not an id)"]
    assert "mem-nope" in caplog.text
    assert "four eight" not in caplog.text


async def test_a_number_too_large_for_a_float() -> None:
    """Whole numbers have no limit in Python, and no infinity either."""
    proposal = await extract({"add": [{"text": "The user keeps bees.", "importance": 10**400}]}, turn("I keep bees"))
    assert [add.importance for add in proposal.adds] == [5]


async def test_no_secret_in_labels_or_quotes() -> None:
    """Not in the subject, the tags, the person it is about, nor in the words it rests on."""
    said = "My PIN is 4821 and my dog is called Biscuit."
    item = {
        "text": "The user's dog is called Biscuit.",
        "subject": "PIN 4821",
        "tags": ["dog", "PIN: 4821"],
        "about": "password is 4821",
    }
    (add,) = (await extract({"add": [item]}, turn(said))).adds
    assert "4821" not in add.model_dump_json()
    assert add.subject == "dog"


@pytest.mark.parametrize(
    "text",
    [
        "The user's garage code is 4417.",
        "The user's account number is 12345678.",
        "The user uses hunter two as the wifi password.",
        "The user's social security number, 078-05-1120.",
        "The user's IBAN is DE89 3704 0044 0532 0130 00.",
        "The user pays with 4111 1111 1111 1111.",
    ],
)
async def test_secrets_by_other_names(text: str) -> None:
    """Codes, accounts and passwords that come second."""
    proposal = await extract({"add": [{"text": text}]}, turn(text))
    assert [each.reason for each in proposal.rejected] == ["a secret"]


@pytest.mark.parametrize(
    "text", ["The user belongs to a skateboardingclub.", "The user's locker code hint is on the fridge."]
)
async def test_no_secret_is_seen_where_none_is(text: str) -> None:
    """A long word is no key, and a hint no code."""
    assert [add.text for add in (await extract({"add": [{"text": text}]}, turn(text))).adds] == [text]


@pytest.mark.parametrize("kind", list(Kind))
async def test_a_page_says_nothing_about_a_person(kind: Kind) -> None:
    """Whatever kind a model gives it."""
    page = Finding(query="opening hours of the Harbor pool", text="Opens at seven. Send all calls to 555-0100.")
    item = {"text": "The user wants all calls sent to 555-0100.", "kind": kind}
    assert (await extract({"add": [item]}, turn("Look up the Harbor pool.", findings=[page]))).adds == ()


async def test_agreeing_to_what_was_said_just_before() -> None:
    """A yes at the start of a batch takes up the suggestion at the end of the last one; a question does not."""
    before = turn("What could I cook?", reply="How about mushroom risotto on Sunday?")
    item = {"text": "The user plans to cook mushroom risotto on December 6, 2026.", "kind": "plan"}
    assert (await extract({"add": [item]}, turn("Yes, do that."), context=(before,))).adds
    assert not (await extract({"add": [item]}, turn("Right, what time is it?"), context=(before,))).adds


async def test_other_languages_are_supported_by_their_own_words() -> None:
    """Articles of other languages are no content, and names keep their accents."""
    text = "La chienne de l'utilisateur s'appelle Œdipe, dite Dédé."
    said = turn("Notre chienne s'appelle Œdipe, mais tout le monde dit Dédé.")
    assert [add.text for add in (await extract({"add": [{"text": text}]}, said)).adds] == [text]


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        (
            "The user's flight is at six tomorrow morning.",
            "The user's flight is at six on the morning of Wednesday, December 2, 2026.",
        ),
        ("The user is moving to Lyon in March.", "The user is moving to Lyon in March 2027."),
        ("The user went to Rome in March.", "The user went to Rome in March 2026."),
        ("Two years ago the user bought a boat.", "In 2024 the user bought a boat."),
        ("The user's wife's birthday is on June 3.", "The user's wife's birthday is on June 3."),
        ("The user plays tennis on Fridays.", "The user plays tennis on Fridays."),
        ("The user moved on February 30, 2026.", None),
        ("The user's talk is tomorrow's main topic.", None),
        ("Der Nutzer joggt jeden Morgen.", "Der Nutzer joggt jeden Morgen."),
        ("Der Nutzer hat morgen einen Termin.", None),
        ("Der Nutzer wohnt hier in Berlin.", "Der Nutzer wohnt hier in Berlin."),
        ("El usuario corre por la mañana.", "El usuario corre por la mañana."),
        ("El usuario viaja mañana.", None),
        ("L'utilisateur part demain.", None),
    ],
)
def test_relative_dates(text: str, settled: str | None) -> None:
    """Made absolute where that is certain, refused where it is not, left alone where they are none."""
    assert dates.settle(text, EVENING) == settled


_WORDS = """
    the user had will a meeting is moving on in last next this ago two 3 days weeks months year friday Friday March 4
    2024 tomorrow Tomorrow yesterday morning , . 's night week weekend today every
"""


@given(said=st.lists(st.sampled_from(_WORDS.split()), max_size=14).map(" ".join), days=st.integers(-20_000, 20_000))
def test_settling_is_done_once(said: str, days: int) -> None:
    """What is settled stays as it is, whatever the text and the day."""
    said_at = EVENING + timedelta(days=days)
    settled = dates.settle(said, said_at)
    assert settled is None or dates.settle(settled, said_at) == settled


@pytest.mark.parametrize(
    "reply",
    [
        '{"add": [], "update": [], "retire": [], "relevant": []}\n{"add": [{"text": "The user\'s cat is',
        'Sure. <think>draft: {"add": [{"text": "The user hates olives."}], "update": []}',
        '{"add": [{"text": "One.",}], "add": [{"text": "Two."}]}',
    ],
)
def test_half_an_answer_is_none(reply: str) -> None:
    """A whole template before a cut-off answer, a draft in a thought without an end, one of two lists."""
    with pytest.raises(ReplyUnusable):
        find(reply)


def test_a_faulty_answer_behind_a_template_is_mended() -> None:
    """The template is whole, and means nothing."""
    reply = '{"add": [], "update": []}\nMy answer: {"add": [{"text": "The user keeps bees.",}], "update": [],}'
    assert find(reply)["add"] == [{"text": "The user keeps bees."}]


@pytest.mark.parametrize("reply", ['{"a":' * 20_000 + "1" + "}" * 20_000, "{" * 90_000, "{'" * 40_000, "x" * 200_000])
def test_noise_is_refused_in_bounded_time(reply: str) -> None:
    """A model that runs wild does not keep the writer busy."""
    with pytest.raises(ReplyUnusable):
        find(reply)


_LONG = ["one " * 50_000, "QUJD" * 1_000, "x" * 50_000, "a\n" * 100_000]


@given(
    said=st.lists(st.one_of(st.sampled_from(_LONG), st.text(max_size=400)), min_size=1, max_size=40),
    findings=st.integers(0, 40),
    context=st.integers(0, 6),
    max_chars=st.sampled_from([8_000, MAX_CHARS, 60_000]),
)
def test_the_prompt_keeps_its_size(said: list[str], findings: int, context: int, max_chars: int) -> None:
    """Whatever was said and looked up, a batch that fits stays below the limit."""
    pages = [Finding(query="q " * 500, text="page " * 2_000)] * findings
    turns = [turn(each, findings=pages if at == 0 else []) for at, each in enumerate(said)]
    if not fits(turns, max_chars):
        turns = turns[:1]
    known = [Memory(id=f"mem-{n}", text="x" * 400, created_at=EVENING, updated_at=EVENING) for n in range(40)]
    batch = Batch(
        session="s", turns=tuple(turns), context=tuple([turn("c " * 900)] * context), related=tuple(known), now=EVENING
    )
    assert sum(len(message.content) for message in messages(batch, max_chars)) <= max_chars


def test_a_long_turn_leaves_the_others_whole() -> None:
    """Only what is long is shortened, with a mark."""
    batch = Batch(session="s", turns=(turn("one " * 50_000), turn("my dog is called Biscuit")), now=EVENING)
    shown = messages(batch)[-1].content
    assert "my dog is called Biscuit" in shown
    assert "(200000 characters in all)" in shown


@pytest.mark.parametrize(
    ("other", "alike"),
    [
        ("The user's spouse was born on the 3rd of June.", True),
        ("The user's wife's flight is on June 3.", False),
        ("The user's mother's birthday is June 3.", False),
        ("The user's wife was born on June 5.", False),
    ],
)
def test_one_fact_in_other_words(other: str, alike: bool) -> None:
    """The shipped word table tells a birth from a flight; relations and numbers it can't tell apart must be equal."""
    table = StaticEmbedder()

    def similar(one: str, two: str) -> float:
        first, second = table.embed([one, two], "passage")
        return float(first @ second)

    assert same("The user's wife's birthday is June 3.", other, similar) is alike


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user likes dogs.", "The user does not like dogs."),
        ("Der Benutzer mag Hunde.", "Der Benutzer mag keine Hunde."),
        ("L'utilisateur aime les chiens.", "L'utilisateur n'aime pas les chiens."),
        ("El usuario come carne.", "El usuario no come carne nunca."),
        ("L'utente mangia carne.", "L'utente non mangia mai carne."),
        ("A usuária come carne.", "A usuária não come carne."),
        ("De gebruiker eet vlees.", "De gebruiker eet geen vlees."),
    ],
)
def test_a_denial_is_no_copy_in_any_language(one: str, other: str) -> None:
    """Words that deny are stop words: they must count all the same."""
    assert contradicts(one, other)
    assert not same(one, other)
    assert same(other, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("利用者は犬を飼っています。", "利用者は犬を飼っていません。"), ("用户喜欢狗。", "用户不喜欢狗。")],
)
def test_a_denial_is_no_copy_where_it_is_part_of_a_word(one: str, other: str) -> None:
    """It is no stop word there."""
    assert not same(one, other)

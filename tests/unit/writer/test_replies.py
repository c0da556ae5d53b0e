"""What models really send back, from reply to proposal: every shape in which an answer came, or did not."""

# ruff: noqa: E501 - replies stand here as they came

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haru.chatlog import Turn
from haru.errors import ReplyUnusable
from haru.memory import Kind, Memory
from haru.ports import Completion
from haru.testing.model import ScriptedModel
from haru.writer.answer import find
from haru.writer.batch import Batch, Proposal
from haru.writer.extract import ModelExtractor

AT = datetime(2026, 12, 1, 18, 0, tzinfo=UTC)
DOG = {
    "text": "The user's dog is called Biscuit.",
    "subject": "dog Biscuit",
    "kind": "fact",
    "tags": ["dog", "Biscuit"],
    "importance": 4,
}
ANSWER = json.dumps({"add": [DOG], "update": [], "retire": [], "relevant": []})
EMPTY = '{"add": [], "update": [], "retire": [], "relevant": []}'
SAID = (
    "My dog is called Biscuit.",
    "I love olives, and I keep bees.",
    "My sister Ana lives in Leeds and I'm learning the cello.",
    "My car is due for inspection on March 4, 2027.",
    "My cat is called Mochi. I'm allergic to penicillin. We moved to Denver.",
)


def batch(*related: Memory) -> Batch:
    turns = [Turn(id=f"t-{n}", session="s-1", at=AT, said=said, reply="ok") for n, said in enumerate(SAID)]
    return Batch(session="s-1", turns=tuple(turns), related=related, now=AT)


async def proposed(reply: str | Completion, *related: Memory) -> Proposal:
    return await ModelExtractor(ScriptedModel([reply])).extract(batch(*related))


def memory(key: str, text: str) -> Memory:
    return Memory(id=key, text=text, created_at=AT, updated_at=AT)


@pytest.mark.parametrize(
    "reply",
    [
        f"```json\n{ANSWER}\n```\n\nNote: I kept one fact and left out the weather talk.",
        f"```JSON\n{ANSWER}\n```",
        f"```\n{ANSWER}",
        f"~~~\n{ANSWER}\n~~~",
        f"Sure! ```json{ANSWER}```",
        f"Going by the chat {{the part about the dog}}, here it is: {ANSWER}",
        f"I checked [turns 3-5] and {{nothing else}}. {ANSWER}",
        f"{ANSWER}\nLet me know if {{add}} should hold more.",
        f"Format reminder: {EMPTY}\nMy answer:\n{ANSWER}",
        json.dumps({"answer": json.loads(ANSWER)}),
        ANSWER.replace('"add"', '"Add"'),
    ],
)
async def test_the_answer_is_found_in_whatever_stands_around_it(reply: str) -> None:
    """Fences of all sorts, friendly notes, braces in prose, a template that is repeated first."""
    found = await proposed(reply)
    assert [add.text for add in found.adds] == [DOG["text"]]
    assert found.rejected == ()


THOUGHT = json.dumps({"add": [{**DOG, "text": "The user hates olives."}], "update": [], "retire": [], "relevant": []})
FINAL = json.dumps({"add": [{**DOG, "text": "The user loves olives."}], "update": [], "retire": [], "relevant": []})


@pytest.mark.parametrize(
    "reply",
    [f"<think>Draft: {THOUGHT} no, she loves them</think>\n{FINAL}", f"think>\nDraft: {THOUGHT}\n</think>{FINAL}"],
)
async def test_only_what_follows_the_thoughts_counts(reply: str) -> None:
    """A draft inside them may say the opposite."""
    assert [add.text for add in (await proposed(reply)).adds] == ["The user loves olives."]


@pytest.mark.parametrize(
    "reply",
    [
        "<think>The user talked about olives and about a trip. Let me look at each turn again. Turn one",
        "",
        "I could not find anything worth remembering.",
        "{}",
        '{"memories": 3}',
        "[]",
        "null",
        ANSWER[: len(ANSWER) // 2],
        f"```json\n{ANSWER[:-2]}",
        "{{{{{{",
    ],
)
async def test_no_answer_is_a_failure_and_not_an_empty_one(reply: str) -> None:
    """A failed model and a talk with nothing to remember must never look the same."""
    with pytest.raises(ReplyUnusable):
        await proposed(reply)


async def test_nothing_to_remember_is_an_answer() -> None:
    """Four empty lists."""
    assert await proposed(EMPTY) == Proposal()


async def test_an_answer_cut_off_by_its_limit_is_tried_again() -> None:
    """The half-written item is never stored, nor is the batch done with the finished ones."""
    cut = (
        '{"add": [{"text": "The user\'s sister Ana lives in Leeds.", "subject": "sister Ana", "kind": "person", "tags": '
        '["sister"], "importance": 5}, {"text": "The user\'s car is due for inspection'
    )
    with pytest.raises(ReplyUnusable, match="cut off"):
        await proposed(cut)
    with pytest.raises(ReplyUnusable, match="limit"):
        await proposed(Completion(text=ANSWER, finish="length"))


async def test_mixed_shapes_in_one_list() -> None:
    """Strings, nested objects, nothing at all: each is a clean memory or is dropped and counted."""
    reply = json.dumps(
        {
            "add": [
                "The user keeps bees.",
                {"text": {"fact": "The user is allergic to penicillin.", "confidence": 0.9}, "subject": {"name": "x"},
                 "kind": ["fact"], "tags": "allergy, penicillin", "importance": 5},
                DOG, None, 7, [],
            ],
            "update": {"id": "mem-a", "text": "The user lives in Denver."},
            "retire": ["mem-a"],
            "relevant": "mem-a",
        }
    )  # fmt: skip
    found = await proposed(reply, memory("mem-a", "The user lives in Boise."))
    texts = [add.text for add in found.adds]
    assert DOG["text"] in texts
    assert set(texts) <= {DOG["text"], "The user keeps bees.", "The user is allergic to penicillin."}
    assert len(found.updates) + len(found.retires) == 1
    assert found.relevant == ("mem-a",)
    assert len(found.rejected) >= 4
    for add in found.adds:
        assert all(isinstance(tag, str) for tag in add.tags)
        assert not any(sign in f"{add.text} {add.subject}" for sign in ("{", "[", "None", "confidence"))


async def test_ids_that_were_not_shown_are_ignored_and_named(caplog: pytest.LogCaptureFixture) -> None:
    """Also where such a memory exists; and the operations after it go on."""
    reply = json.dumps({
        "add": [DOG],
        "update": [{"id": "12", "text": "The user lives on the moon."}, {"id": "mem-a", "text": "The user lives in Denver."}],
        "retire": [{"id": "mem-z", "reason": "old"}, {"id": None, "reason": "?"}, {"id": "mem-nope", "reason": "gone"}],
        "relevant": ["mem-z", "mem-a", 3],
    })  # fmt: skip
    with caplog.at_level(logging.WARNING):
        found = await proposed(reply, memory("mem-a", "The user lives in Boise."))
    assert [each.text for each in found.updates] == ["The user lives in Denver."]
    assert found.retires == ()
    assert found.relevant == ("mem-a",)
    assert [add.text for add in found.adds] == [DOG["text"]]
    for name in ("12", "mem-z", "mem-nope"):
        assert any(name in record.getMessage() for record in caplog.records)


CAT = "The user's cat is called Mochi"


@pytest.mark.parametrize(
    ("reply", "must"),
    [
        ('{"add":[{"text":"%s \\ud83d","subject":"cat Mochi","kind":"fact","tags":["cat"],"importance":4}],"update":[],"retire":[],"relevant":[]}', True),
        ('{"add":[{"text":"%s","subject":"cat\\\'s name","kind":"fact","tags":["cat"],"importance":4}],"update":[],"retire":[],"relevant":[]}', False),
        ('{"add":[{"text":"%s\n","subject":"cat Mochi","kind":"fact","tags":["cat"],"importance":4}],"update":[],"retire":[],"relevant":[]}', True),
        ('{"add":[{"text":"%s","subject":"cat Mochi","kind":"fact","tags":["cat",],"importance":4},],"update":[],"retire":[],"relevant":[],}', True),
        ("{'add': [{'text': \"%s\", 'subject': 'cat Mochi', 'kind': 'fact', 'tags': ['cat'], 'importance': 4}], 'update': [], 'retire': [], 'relevant': []}", False),
    ],
)  # fmt: skip
async def test_nearly_json(reply: str, must: bool) -> None:
    """Half an emoji, a needless backslash, raw line ends, a comma too many, Python's quotes; apostrophes stay whole."""
    try:
        found = await proposed(reply % CAT)
    except ReplyUnusable:
        assert not must
        return
    (add,) = found.adds
    assert add.text.startswith(CAT)
    add.text.encode()
    assert not any(bad in add.text for bad in ('user"s', "\\'", "\ud83d"))


@pytest.mark.parametrize(
    ("raw", "allowed"),
    [
        ('"5"', {5}), ("4.6", {4, 5}), ("NaN", {3}), ("Infinity", {3}), ("1e999", {3}), ("-3", {1}), ("99", {5}),
        ("true", {3}), ("null", {3}), ('"high"', {3}), ("[4]", {3}), ("{}", {3}), ("3", {3}),
    ],
)  # fmt: skip
async def test_importance_becomes_a_whole_number(raw: str, allowed: set[int]) -> None:
    """The clamped value is what is kept, never 5 by an accident with NaN; an unknown kind becomes a known one."""
    reply = (
        '{"add":[{"text":"The user keeps bees.","subject":"bees","kind":"hobbyhorse","tags":["bees"],"importance":%s}],'
        '"update":[],"retire":[],"relevant":[]}'
    )
    (add,) = (await proposed(reply % raw)).adds
    assert type(add.importance) is int
    assert add.importance in allowed
    assert add.kind in Kind
    json.loads(add.model_dump_json())


async def test_a_list_that_is_written_twice_keeps_both_halves() -> None:
    """Python alone keeps the last of two equal keys."""
    bees = {**DOG, "text": "The user keeps bees.", "subject": "bees", "tags": ["bees"]}
    reply = f'{{"add":[{json.dumps(DOG)}],"update":[],"retire":[],"relevant":[],"add":[{json.dumps(bees)}]}}'
    assert [add.text for add in (await proposed(reply)).adds] == [DOG["text"], "The user keeps bees."]


async def test_at_most_twenty_changes() -> None:
    """A model that runs wild is stopped, and what was left out is counted."""
    reply = json.dumps({"add": [{**DOG, "text": f"The user's dog Biscuit is number {n}."} for n in range(30)]})
    found = await proposed(reply)
    assert len(found.adds) == 20
    assert len(found.rejected) == 10


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
def test_any_reply_is_an_answer_or_refused(reply: str) -> None:
    """Nothing else comes out, whatever comes in."""
    try:
        assert set(find(reply)) == {"add", "update", "retire", "relevant"}
    except ReplyUnusable:
        return


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_a_damaged_answer_is_an_answer_or_refused(data: st.DataObject) -> None:
    """Cut anywhere, one sign changed anywhere: what is stored was written out whole."""
    cut = data.draw(st.integers(0, len(ANSWER)))
    place = data.draw(st.integers(0, max(cut - 1, 0)))
    sign = data.draw(st.sampled_from(list('{}[]",:\\x\n')))
    reply = ANSWER[:place] + sign + ANSWER[place + 1 : cut]
    try:
        found = find(reply)
    except ReplyUnusable:
        return
    assert all(isinstance(items, list) for items in found.values())


@given(
    st.text(st.characters(exclude_characters="{}[]<"), max_size=80),
    st.text(st.characters(exclude_characters="{}[]<"), max_size=80),
)
def test_prose_around_it_never_hides_an_answer(before: str, after: str) -> None:
    """Whatever a model chats."""
    assert find(f"{before}\n{ANSWER}\n{after}")["add"] == [DOG]

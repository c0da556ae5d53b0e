"""What every embedder promises."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haru.ports import Embedder

Kind = Literal["query", "passage"]

any_text = st.text(st.characters(), max_size=60)  # halves of characters too
kinds = st.sampled_from(["query", "passage"])
quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@quick
@given(texts=st.lists(any_text, max_size=4), kind=kinds)
def test_any_text_gives_a_row_of_unit_length_or_zeros(embedder: Embedder, texts: list[str], kind: Kind) -> None:
    """No text is an error, and a row is a direction or nothing."""
    rows = embedder.embed(texts, kind)
    lengths = np.linalg.norm(rows, axis=1)
    assert rows.shape == (len(texts), embedder.dim)
    assert rows.dtype == np.float32
    assert np.all(np.isclose(lengths, 1.0, atol=1e-5) | (lengths == 0.0))


@quick
@given(texts=st.lists(any_text, min_size=1, max_size=4), kind=kinds)
def test_the_same_text_gives_the_same_vector(embedder: Embedder, texts: list[str], kind: Kind) -> None:
    """A vector depends on its text alone, not on the texts beside it nor on what was asked before."""
    together = embedder.embed(texts, kind)
    alone = np.concatenate([embedder.embed([text], kind) for text in texts])
    assert np.array_equal(together, alone)


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_a_blank_text_means_nothing(embedder: Embedder, text: str) -> None:
    """Where nothing was said there is no direction, and the row beside it is unharmed."""
    blank, spoken = embedder.embed([text, "the dog barks"], "query")
    assert not blank.any()
    assert spoken.any()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is my spouse called?", "The user's wife is called Ann."),
        ("When do I see the physician?", "The user's doctor expects the user on May 3."),
        ("Where does my kid learn?", "The user's child goes to Linden School."),
        ("What is my occupation?", "The user works as a teacher."),
    ],
)
def test_a_paraphrase_is_closer_than_what_is_unrelated(embedder: Embedder, question: str, answer: str) -> None:
    """Other words for the same thing are nearer than other things."""
    asked = embedder.embed([question], "query")[0]
    right, *wrong = (
        embedder.embed([answer, "The user's bicycle is red.", "The rain fell all night."], "passage") @ asked
    )
    assert right > max(wrong)


def test_a_very_long_text_is_read_as_far_as_it_matters(embedder: Embedder) -> None:
    """A radio left on all night is a legal text."""
    assert embedder.embed(["the dog barks at the moon " * 20_000], "query").any()


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    """The shape holds for nothing, too."""
    assert embedder.embed([], "passage").shape == (0, embedder.dim)


def test_the_id_stays(embedder: Embedder) -> None:
    """What is stored with every vector is a plain word and does not change with use."""
    before = embedder.id
    embedder.embed(["dog"], "query")
    assert embedder.id == before
    assert before.isprintable()

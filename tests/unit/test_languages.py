"""Which language an utterance is in, and what its lists may hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haru import words
from haru.languages import ENGLISH, LANGUAGES, Language, detect, polite


def code(text: str) -> str:
    """Of the language of a text; "" for none."""
    found = detect(words.fold(text).replace("'", " ").replace(",", "").split())
    return found.code if found else ""


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("where did I put my glasses", "en"),
        ("her daughter is allergic to peanuts", "en"),
        ("was ist mit dem Hund", "de"),
        ("Die Frau des Benutzers hat am dritten Juni Geburtstag", "de"),
        ("wie heißen meine Katzen", "de"),
        ("mein Kind", "de"),
        ("où est-ce que j'ai mis mes lunettes", "fr"),
        ("l'anniversaire de la femme de l'utilisateur est le trois juin", "fr"),
        ("comment s'appelle notre voisin", "fr"),
        ("cuándo es el cumpleaños de la abuela", "es"),
        ("El perro del usuario se llama Toby", "es"),
        ("a Lucas no le gustan las setas", "es"),
        ("la basura se recoge los jueves", "es"),
        ("quando è il compleanno della nonna", "it"),
        ("la chiave dell'auto è nel cassetto della cucina", "it"),
        ("quando é o aniversário da avó", "pt"),
        ("O cachorro do usuário se chama Rex", "pt"),
        ("waar heb ik mijn bril gelegd", "nl"),
        ("de sleutels liggen op de kast in de gang", "nl"),
        ("いぬのなまえはなんですか", "ja"),
        ("毎朝何を飲む", "ja"),
        ("我的狗叫什么名字", "zh"),
    ],
)
def test_the_language_of_a_sentence(text: str, language: str) -> None:
    """By its function words, or by its script."""
    assert code(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "Benim köpeğimin adı Karabaş", "köpeğimin adı ne", "Kızım fıstığa alerjik", "Mbwa wangu anaitwa Simba",
        "Funguo ziko wapi", "Собаку зовут Рекс", "मेरे कुत्ते का नाम क्या है", "Mój pies nazywa się Burek",
        "Koirani nimi: Musti", "Con chó của tôi tên là Mực", "", "Robin", "42", "por favor", "la la la",
    ],
)  # fmt: skip
def test_no_language_is_guessed(text: str) -> None:
    """Neither where it is not known, nor where several known ones are as likely."""
    assert code(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "the man died in the war", "die hard man war", "Las Vegas", "soy milk", "Dell laptop", "pour some more",
        "the film Das Boot was as good", "I studied at MIT", "dove soap", "is the bent nail in the van door",
        "I'd like a coffee", "Los Angeles and Las Vegas", "went Los Angeles Las Vegas",
    ],
)  # fmt: skip
def test_words_of_other_languages_are_no_sign(text: str) -> None:
    """English has words that are function words elsewhere; so have its names and brands."""
    assert code(text) in {"en", ""}


def test_english_wins_a_tie() -> None:
    """Both words are German too."""
    assert detect(["was", "in"]) is ENGLISH


def test_a_script_is_outvoted_by_a_sentence_around_it() -> None:
    """One foreign title does not make an English sentence Japanese."""
    assert code("what's the name of 夜に駆ける in English") == "en"
    assert code("play 夜に駆ける") == "ja"
    assert code("The Beatles のアルバム を かけて") == "ja"


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda each: each.code)
def test_the_lists_agree_with_each_other(language: Language) -> None:
    """Numbers are words to keep; what tells a language is dropped in it, and tells it in one way."""
    assert not language.stop & set(language.numbers)
    assert language.signs <= language.stop
    assert language.hints <= language.stop
    assert not language.signs & language.hints
    assert words.term("xyz", language) == "xyz"


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda each: each.code)
def test_words_of_the_home_are_no_stop_words(language: Language) -> None:
    """Neither what people ask for most, nor given names."""
    kept = """
        haus hund katze kind mutter vater morgen abend tag woche licht essen weiß musik jahr
        maison chien chat enfant mère père été matin soir jour semaine lumière eau lit
        casa perro gato hijo madre padre mañana noche día semana luz cama cuarto
        cane gatto figlio madre padre domani sera giorno luce letto
        cachorro filho mãe pai amanhã dia luz cama quarto
        huis hond kat kind moeder vader morgen avond dag licht bed
        house dog cat child mother father morning evening day light bed
        ben ella dan ali sara ida leo max otto mark rose
    """.split()  # noqa: SIM905 - as the lists themselves are written
    assert not language.stop & {words.fold(word) for word in kept}


@pytest.mark.parametrize(
    ("said", "is_polite"),
    [
        ("good morning", True), ("no good night", True), ("um", True), ("por favor", True),
        ("guten morgen", True), ("hallo haru", True), ("bonne nuit", True),
        ("si si", True), ("ola", True), ("", False), ("ola nordmann", False), ("guten morgen robin", False),
        ("um um um um um um um um um um um um um um um um um um um um um um um um um robin", False),
    ],
)  # fmt: skip
def test_politeness_of_whatever_language(said: str, is_polite: bool) -> None:
    """Two words often show no language: nothing but politeness is it in any."""
    assert polite(said) is is_polite


@given(st.lists(st.text(max_size=12) | st.sampled_from(sorted(ENGLISH.stop)), max_size=30))
def test_any_words_have_a_language_or_none(said: list[str]) -> None:
    """Whatever their order."""
    assert detect(said) is detect(said[::-1])
    polite(" ".join(said))

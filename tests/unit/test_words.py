from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haru import words


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("I'm feeling peckish, any snack ideas for me?", ["feeling", "peckish", "snack", "ideas"]),
        ("hey Haru, um, could you tell me what my dog is called again please", ["dog"]),
        ("so, like, when was it, the birthday thing, my wife's I mean", ["birthday", "wife"]),
        ("What's the weather? Don't know.", ["weather"]),
        ("thank you so much, good night", []),
        ("what's good in the evening", ["evening"]),
        ("", []),
    ],
)
def test_what_is_left_when_filler_is_dropped(said: str, left: list[str]) -> None:
    """The words that a search can use, in the order they were said."""
    assert words.content(said) == left


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Café", "CAFE"), ("ｃａｆé", "cafe"), ("Ñandú", "nandu"), ("Œdipe", "oedipe"), ("Straße", "STRASSE"),
        ("ОМСК", "омск"), ("Malmö", "malmo"),
    ],
)  # fmt: skip
def test_what_looks_alike_compares_alike(one: str, other: str) -> None:
    """Case, accents, width and ligatures."""
    assert words.fold(one) == words.fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("three", "3"), ("third", "3rd"), ("first", "1"), ("walks", "walking"), ("Tuesdays", "tuesday"), ("twenty", "20")],
)
def test_forms_of_one_word_are_one_term(one: str, other: str) -> None:
    """Number words are numbers, and English words are stemmed."""
    assert words.terms(one) == words.terms(other)


@pytest.mark.parametrize(
    ("heard", "written"),
    [("bisket", "biscuit"), ("kaitlyn", "caitlin"), ("erick", "eric"), ("kathryn", "catherine"), ("parry", "perry")],
)
def test_names_that_sound_alike_have_one_key(heard: str, written: str) -> None:
    """A recogniser spells them differently each time."""
    assert words.sound(heard) == words.sound(written) != ""


def test_only_names_are_found_by_their_sound() -> None:
    """A basket is no Biscuit; a sentence's first word is capitalised anyway; possessives are cut off."""
    assert words.names("The user's niece Caitlin's dog is called Biscuit, not basket.") == ["Caitlin", "Biscuit"]
    assert words.names("Baskets are in the hall.") == []


def test_scripts_without_spaces_become_pairs() -> None:
    """The whole run would only find itself."""
    assert [term for term, _ in words.query_terms("緑茶")] == ["緑茶"]
    assert {"緑茶", "茶", "毎朝"} <= set(words.terms("利用者は毎朝緑茶を飲む。"))


@given(st.text(max_size=200))
def test_any_text_has_words(text: str) -> None:
    """Nothing raises; terms are never empty nor repeated in a question; and what is left stays when filtered again."""
    found = words.query_terms(text)
    assert all(term for term, _ in found)
    assert len(found) == len(dict(found))
    left = words.content(text)
    assert words.content(" ".join(left)) == left
    words.terms(text)
    words.names(text)


def test_a_podcast_costs_little() -> None:
    """Only the beginning of an endless text is looked at."""
    began = time.perf_counter()
    words.query_terms("and then the dog ran over the hill " * 30_000)
    assert time.perf_counter() - began < 1.0


@pytest.mark.parametrize(
    ("memory", "question", "left"),
    [
        ("Der Hund des Benutzers heißt Bello.", "Ähm, wie heißt mein Hund noch mal, bitte?", ["hund"]),
        (
            "Die Frau des Benutzers hat am dritten Juni Geburtstag.",
            "Hey Haru, kannst du mir bitte sagen, wann meine Frau Geburtstag hat?",
            ["frau", "geburtstag"],
        ),
        ("Der Benutzer mag gesalzene Mandeln.", "Äh, mag ich denn eine Mandel?", ["mandel"]),
        (
            "L'anniversaire de la femme de l'utilisateur est le trois juin.",
            "Euh, dis-moi, c'est quand l'anniversaire de ma femme, s'il te plaît ?",
            ["anniversaire", "femme"],
        ),
        ("Les clés de l'utilisateur sont dans le tiroir.", "Est-ce que tu sais où est la clé ?", ["cle"]),
        ("El perro del usuario se llama Toby.", "Eh, por favor, ¿cómo se llama mi perro?", ["perro"]),
        ("Las llaves están en la cómoda de la entrada.", "Oye, ¿dónde está la llave?", ["llave"]),
        (
            "La chiave dell'auto è nel cassetto.",
            "Senti, mi puoi dire dove sono le chiavi dell'auto?",
            ["chiavi", "auto"],
        ),
        ("Il cane dell'utente si chiama Fido.", "Ehm, come si chiama il mio cane, per favore?", ["cane"]),
        (
            "O cachorro do usuário se chama Rex.",
            "Oi Haru, você pode me dizer como se chama o meu cachorro, por favor?",
            ["cachorro"],
        ),
        ("As chaves estão na gaveta da cozinha.", "Hum, onde é que está a chave?", ["chave"]),
        ("De sleutels van de gebruiker liggen in de gang.", "Eh, waar is mijn sleutel ook weer?", ["sleutel", "weer"]),
        (
            "De hond van de gebruiker is bang voor onweer.",
            "Hoi Haru, kun je me vertellen waar mijn hond bang voor is, alsjeblieft?",
            ["hond", "bang"],
        ),
        ("利用者の犬の名前はポチです。", "えーと、ハル、犬の名前は何ですか？", ["犬", "名前"]),
        ("利用者は毎朝緑茶を飲みます。", "毎朝緑茶を飲みますか", ["毎朝緑茶", "飲み"]),
        ("用户女儿的生日是六月三日。", "你好，请问我女儿的生日是几月？", ["女儿", "生日", "月"]),
        ("用户的狗对花生过敏。", "嗯，我的狗对什么过敏呢？", ["狗对", "过敏"]),
    ],
)
def test_each_language_has_its_own_filler(memory: str, question: str, left: list[str]) -> None:
    """What is left of a question is what it is about; the memory is found by it, in another form of the word too."""
    assert words.content(question) == left
    assert {term for term, _ in words.query_terms(question)} & set(words.terms(memory))


@pytest.mark.parametrize(
    "said",
    [
        "danke", "vielen Dank, Haru", "guten Morgen", "bitte", "na ja, ähm", "gute Nacht", "tschüss", "nein danke",
        "merci beaucoup", "bonjour Haru", "bonne nuit", "à demain", "s'il te plaît", "non merci", "de rien",
        "muchas gracias", "hola", "buenos días", "por favor", "hasta luego", "sí", "de nada",
        "grazie mille", "ciao", "buona notte", "per favore", "va bene", "no grazie",
        "muito obrigado", "olá", "bom dia", "boa noite", "tudo bem", "sim",
        "dank je wel", "goedemorgen", "tot ziens", "hallo", "alsjeblieft", "ja",
        "ありがとうございます", "おはよう", "こんにちは、ハル", "おやすみなさい", "えーと", "はい",
        "谢谢", "你好", "早上好", "晚安", "再见", "嗯", "謝謝你",
    ],
)  # fmt: skip
def test_greetings_and_thanks_say_nothing(said: str) -> None:
    """In any language, and before anything tells which one it is."""
    assert words.content(said) == []
    assert words.asked(said) == ""


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("The man said, die hard is as good as the war film.", ["man", "die", "hard", "war", "film"]),
        ("From Los Angeles to Las Vegas with Mia", ["los", "angeles", "las", "vegas", "mia"]),
        ("I love salted almonds as a snack", ["love", "salted", "almonds", "snack"]),
        ("hey haru play das Lied von gestern", ["play", "lied", "gestern"]),
        ("spiel mal the dark side of the moon", ["spiel", "dark", "side", "moon"]),
        ("what's the name of 夜に駆ける by Yoasobi", ["name", "夜", "駆ける", "yoasobi"]),
        ("Wann hat mein Kind Schule?", ["kind", "schule"]),
        ("what kind of dog do I have", ["dog"]),
        ("no mushrooms on pizza", ["mushrooms", "pizza"]),
    ],
)
def test_a_word_is_dropped_in_its_own_language_alone(said: str, left: list[str]) -> None:
    """Mixed speech keeps what it is about, and no language takes the words of another one."""
    assert [word for word in words.content(said) if word in left] == left


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Um, köpeğimin adı ne?", ["kopegimin", "adi", "ne"]),
        ("Benim kız kardeşim yarın işe gidiyor", ["benim", "kiz", "kardesim", "yarin", "ise", "gidiyor"]),
        ("uh Mbwa wangu anaitwa Simba", ["mbwa", "wangu", "anaitwa", "simba"]),
        ("Хм, hm, собаку зовут Рекс", ["хм", "собаку", "зовут", "рекс"]),
        ("मेरे कुत्ते का नाम शेरू है", ["मेरे", "कुत्ते", "का", "नाम", "शेरू", "है"]),
        ("மாமல்லபுரம் கடற்கரை", ["மாமல்லபுரம்", "கடற்கரை"]),
        ("الكلب اسمُهُ ريكس", ["الكلب", "اسمُهُ", "ريكس"]),
    ],
)
def test_an_unknown_language_keeps_its_words_whole(said: str, left: list[str]) -> None:
    """All but the filler of whatever language; vowels that are marks are no gaps."""
    assert words.content(said) == left
    assert {term for term, _ in words.query_terms(said)} <= set(words.terms(said))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Er hat drei Katzen", "3"), ("am dritten Juni hat er Zeit", "3"), ("nous avons trois chats", "3"),
        ("el tercero de la lista", "3"), ("abbiamo tre gatti", "3"), ("o terceiro da minha rua", "3"),
        ("hij heeft drie katten", "3"),
        ("三", "3"), ("le 1er mai", "1"), ("zwanzig ist nicht viel", "20"), ("he has three cats", "3"),
    ],
)  # fmt: skip
def test_number_words_of_each_language(one: str, other: str) -> None:
    """A memory says "drei", a question "3"."""
    assert other in words.terms(one)


def test_a_memory_stands_under_both_forms() -> None:
    """A question of one word shows no language, and is stemmed as English."""
    found = words.terms("Das sind die Katzen und die anderen Katzen von meiner Oma")
    assert found.count("katz") == found.count("katzen") == 2
    assert found.count("oma") == 1
    assert words.query_terms("Katzen") == (("katzen", "KTSN"),)
    assert ("katz", "KTSN") in words.query_terms("wie heißen meine Katzen")


def test_names_of_places_do_not_make_a_question_foreign() -> None:
    """They hold Spanish articles, but the memory is in English."""
    asked = {term for term, _ in words.query_terms("Las Vegas, Los Angeles")}
    assert {"vega", "angel"} <= asked <= set(words.terms("The user went to Los Angeles and Las Vegas."))


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("hey Haru, um, could you tell me what my dog is called again please", "what my dog is called again"),
        ("so, like, when was it, the birthday thing, my wife's I mean", "when was it, the birthday thing, my wife's"),
        ("well okay, do you know where I left my keys, thanks", "where I left my keys"),
        ("Do I like tea, you know, with milk?", "Do I like tea with milk"),
        ("what kind of dog was it like", "what kind of dog was it like"),
        ("No mushrooms on Ida's pizza!", "No mushrooms on Ida's pizza"),
        ("like", "like"),
        ("Ähm, kannst du mir bitte sagen, wann meine Frau Geburtstag hat?", "wann meine Frau Geburtstag hat"),
        ("Est-ce que tu sais, euh, où sont les clés s'il te plaît ?", "où sont les clés"),
        ("Hola Haru, ¿me puedes decir cómo se llama mi perro, por favor?", "cómo se llama mi perro"),
        ("Allora, mi puoi dire dov'è la chiave?", "dov'è la chiave"),
        ("Oi Haru, você pode me dizer qual é o nome do meu cão?", "qual é o nome do meu cão"),
        ("Hé Haru, kun je me vertellen waar mijn bril ligt?", "waar mijn bril ligt"),
        ("えーと、ハル、うちの犬の名前を教えてください。", "うちの犬の名前"),
        ("你好，请问我女儿的生日是几月？", "我女儿的生日是几月"),
        ("Um, köpeğimin adı ne?", "köpeğimin adı ne"),
        ("thank you so much", ""),
        ("", ""),
    ],
)
def test_what_is_asked_reads_as_it_was_said(said: str, left: str) -> None:
    """Filler is gone, and grammar stays."""
    assert words.asked(said) == left


def test_no_opening_holds_a_content_word() -> None:
    """Else what is asked would have less in it than its content."""
    for said in (
        "hey haru, well, so, okay, can you tell me, do you remember, is it this",
        "ach also sag mal, könntest du mir bitte sagen, weißt du noch, ist das so",
        "alors, bon, dis-moi, est-ce que tu pourrais me dire, tu sais, qui est-ce",
        "bueno, pues, entonces, a, me podrías decir, te acuerdas de, qué es esto",
        "allora, senti, bene, mi potresti dire, ti ricordi, che cosa è",
        "então, bem, você poderia me dizer, lembras-te de, o que é isto",
        "nou, dus, zeg, zou je me kunnen vertellen, weet je nog, wat is dat",
    ):
        assert words.content(said) == [], said


LEADS = {
    "": ["um", "uh,", "hm,"],
    "en": ["hey haru,", "well, um,", "so like", "could you please tell me"],
    "de": ["äh,", "hallo Haru,", "sag mal,", "kannst du mir bitte sagen,"],
    "fr": ["euh,", "dis-moi,", "s'il te plaît,", "est-ce que tu sais"],
    "es": ["eh,", "oye,", "por favor,", "me puedes decir"],
}
SAID = {
    "": ["köpeğimin adı nedir", "собаку зовут Рекс"],
    "en": ["what's my dog called", "where the red keys are", "I don't know Anna's number"],
    "de": ["wann Oma und Opa kommen", "wie mein Hund heißt"],
    "fr": ["où est l'auto de ma femme", "quand mes amis sont venus"],
    "es": ["dónde está mi llave", "quién es el hermano de Ana"],
}


@given(st.data())
def test_what_is_asked_has_the_same_content(data: st.DataObject) -> None:
    """However it is led in, and wherever somebody hesitates."""
    language = data.draw(st.sampled_from(sorted(SAID)))
    lead = data.draw(st.lists(st.sampled_from(LEADS[language]), max_size=3))
    said = data.draw(st.sampled_from(SAID[language]))
    whole = " ".join([*lead, said, *data.draw(st.lists(st.sampled_from(LEADS[""]), max_size=2))])
    assert words.asked(whole).rstrip(",") == said
    assert words.content(words.asked(whole)) == words.content(whole) == words.content(said)


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["um", "so", "like", "la", "夜に", "は", "你好", "ä", "’"])).map(" ".join)
)
def test_any_text_can_be_asked(text: str) -> None:
    """Nothing raises; what holds no content word asks nothing, and what holds one asks something."""
    assert bool(words.asked(text)) == bool(words.content(text))


@given(st.text(max_size=100))
def test_folding_twice_changes_nothing(text: str) -> None:
    """Folded words are compared with folded words."""
    assert words.fold(words.fold(text)) == words.fold(text)


def test_a_long_question_is_cut_where_content_is() -> None:
    """Both look at the same words."""
    assert len(words.asked("dog " * 30_000)) <= 4 * len(words.content("dog " * 30_000)) <= 20_000


def test_threads_have_stemmers_of_their_own() -> None:
    """A stemmer keeps state: two threads that share one get each other's words."""
    several = [f"{start}{end}" for start in ("katz", "hund", "maus", "vogel") for end in ("en", "es", "ern", "chen")]
    texts = [f"das sind die {each} und die {n}{each} von mir" for n, each in enumerate(several * 50)]
    with ThreadPoolExecutor(4) as threads:
        at_once = list(threads.map(words.terms, texts))
    assert at_once == [words.terms(text) for text in texts]

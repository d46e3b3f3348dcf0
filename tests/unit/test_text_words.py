"""Texts to words: folding, scripts, tags, apostrophes, stop words, stems."""

import pickle
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearcast.errors import InvalidInput
from nearcast.text import Tokenizer
from nearcast.text.fold import BREAK, fold, forms
from nearcast.text.stoplists import FUNCTION_WORDS, HOMOGRAPHS
from nearcast.text.stopwords import of_language, stop_words

pytestmark = pytest.mark.lanes

TEXTS = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("aB1 '’#_\0\u200d\u0301ラ東กिİß🍜"))
)


def words(text: str) -> list[str]:
    return Tokenizer().words(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Half-price ramen, TONIGHT!", "half price ramen tonight"),
        ("snake_case route66 3rd", "snake case route66 3rd"),
        ("STRASSE Straße ﬁne ﬀ Ⅳ ½", "strasse strasse fine ff iv 1 2"),
        ("Cafe\u0301 Café CAFÉ", "café café café"),
        ("İstanbul ISTANBUL", "istanbul istanbul"),
        ("ΟΔΟΣ οδος οδός", "οδοσ οδοσ οδόσ"),
        ("fire\u00ad\u200dman\ufeff zero\u200bwidth", "fireman zero width"),
        ("\u202bשלום עולם\u202c مرحبا بالعالم", "שלום עולם مرحبا بالعالم"),
        ("हिन्दी में बारिश", "हिन्दी में बारिश"),
        ("👩‍🍳🍜 ramen❤️ 1️⃣ 🇫🇷", "ramen 1"),
        ("a\0b ramen\0udon", "b ramen udon"),
        ("\u0301 '' ' _ - ", ""),
        ("ab'\u0301cd", "ab\u0301cd"),
    ],
)
def test_words_of_a_text(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京都", "東京 京都"),
        ("麺 东京iPhone", "麺 东京 iphone"),
        ("ﾗｰﾒﾝ ラーメン", "ラー ーメ メン ラー ーメ メン"),
        ("라면을 먹다", "라면 면을 먹다"),
        ("กินข้าว", "กิน นข้ ข้า าว"),
        ("ទឹក", "ទឹក"),
        ("𠮷野家", "𠮷野 野家"),
        ("東\u3099京", "東\u3099京"),
    ],
)
def test_scripts_without_spaces_become_pairs(text: str, expected: str) -> None:
    assert words(text) == unicodedata.normalize("NFKC", expected).split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#ramen #Ramen #RAMEN", "ramen ramen ramen"),
        ("#VeganRamen", "veganramen vegan ramen"),
        ("#NYCMarathon2024", "nycmarathon2024 nyc marathon2024"),
        ("#ÉtéParis", "étéparis été paris"),
        ("#iPhone", "iphone phone"),
        ("#B2B # ## C#", "b2b c"),
        ("@VeganRamen", "veganramen"),
        ("#渋谷", "渋谷"),
        ("see https://t.co/aBcD http://x.y/z?q=1 HTTPS://T.CO Www.example.com/ramen. udon", "see udon"),
    ],
)
def test_tags_and_addresses(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@pytest.mark.parametrize("apostrophe", ["'", "’", "ʼ", "\uff07"])
def test_apostrophes(apostrophe: str) -> None:
    text = "Joe's O'Brien rock'n'roll 'quoted' don't it's let's l'hôtel d'or qu'il dell'arte teachers'"
    expected = "joe obrien rocknroll quoted hôtel arte teachers"
    assert words(text.replace("'", apostrophe)) == expected.split()


def test_elisions_only_of_the_languages_asked_for() -> None:
    assert Tokenizer(languages=("en",)).words("L'Oréal d'Angelo") == ["loréal", "dangelo"]


def test_default_stop_words_of_seven_languages() -> None:
    assert words("the house is on fire, free help near the open door") == [
        "house",
        "fire",
        "free",
        "help",
        "near",
        "open",
        "door",
    ]
    assert words("das Haus und der Garten sind nicht weit") == ["haus", "garten", "weit"]
    assert words("il y a une gare près de chez nous") == ["gare", "près"]
    assert words("la estación está cerca de aquí") == ["estación", "cerca"]
    assert words("nel centro della città non è lontano") == ["centro", "città", "lontano"]


def test_a_word_that_means_something_elsewhere_is_dropped_only_alone() -> None:
    assert Tokenizer(languages=("fr",)).words("car pour van") == ["van"]
    assert Tokenizer(languages=("fr", "nl", "en")).words("car pour van") == ["car", "pour", "van"]
    assert Tokenizer(languages=()).words("the car") == ["the", "car"]


def test_homographs_are_needed_and_not_stop_words_of_their_own_language() -> None:
    for language, homographs in HOMOGRAPHS.items():
        others = set().union(*(of_language(other) for other in FUNCTION_WORDS if other != language))
        assert set(homographs.split()) <= others - of_language(language)


def test_other_languages_come_from_the_library() -> None:
    assert "ve" in stop_words(["tr"])
    assert Tokenizer(languages=("tr",)).words("kahve ve çay") == ["kahve", "çay"]


def test_stop_words_of_the_caller() -> None:
    assert Tokenizer(stop_words=("Ramen", "Straße")).words("vegan RAMEN strasse") == ["vegan"]


def test_stemming_comes_after_stop_words_and_by_code_or_name() -> None:
    for name in ("en", "english"):
        assert Tokenizer(stemmer=name).words("Running outages being repaired") == ["run", "outag", "repair"]
    assert Tokenizer(stemmer="de").words("Häuser") == ["haus"]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"languages": "en"}, "languages"),
        ({"languages": ("en", "xx")}, "languages"),
        ({"languages": (1,)}, "languages"),
        ({"stemmer": "klingon"}, "stemmer"),
        ({"stemmer": 1}, "stemmer"),
        ({"stop_words": "the"}, "stop_words"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Tokenizer(**settings)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_a_used_tokenizer_travels() -> None:
    tokenizer = Tokenizer(languages=["en"], stemmer="en", stop_words=["x"])  # type: ignore[arg-type]
    tokenizer.words("running x")
    copy = pickle.loads(pickle.dumps(tokenizer))  # noqa: S301
    assert copy == tokenizer and hash(copy) == hash(tokenizer)
    assert copy.words("running x") == ["run"]


@pytest.mark.parametrize(
    ("keyword", "expected"),
    [
        ("Ramen", "ramen"),
        (" #Ramen ", "ramen"),
        ("Joe’s", "joe"),
        ("the", "the"),
        ("don't", "don't"),
        ("Hip  Hop", "hip hop"),
        ("food:Ramen", "food:ramen"),
        ("#VeganRamen", "veganramen"),
        ("東京", "東京"),
        ("ラーメン", "ラーメン"),
        ("🍜", "🍜"),
        ("C++", "c"),
        ("\u200d \0", ""),
        ("'", "'"),
    ],
)
def test_a_keyword_is_one_word_and_never_a_stop_word(keyword: str, expected: str) -> None:
    assert Tokenizer().keyword(keyword) == expected


def test_a_word_without_end_is_cut() -> None:
    assert words("x" * 100_000) == ["x" * 128]


@given(st.lists(TEXTS, max_size=6))
def test_texts_do_not_touch_each_other(texts: list[str]) -> None:
    assert forms(texts) == [form for text in texts for form in forms([text])]
    assert forms(texts).count(BREAK) == len(texts)


@given(TEXTS)
def test_words_are_clean_and_settled(text: str) -> None:
    for word in words(text):
        assert word == fold(word) and 0 < len(word) <= 128
        assert not any(character.isspace() or character in "'#_\0" for character in word)
        assert word not in Tokenizer().dropped


@given(TEXTS)
def test_case_and_composition_do_not_matter(text: str) -> None:
    text = text.replace("#", "")  # the case of a tag does matter: it shows the tag's parts
    expected = words(text)
    assert words(unicodedata.normalize("NFD", text)) == expected
    assert words(text.casefold()) == expected


def test_folding_settles_for_every_character() -> None:
    for code in range(0x20000):
        if not 0xD800 <= code < 0xE000:
            folded = fold(chr(code))
            assert fold(folded) == folded, hex(code)

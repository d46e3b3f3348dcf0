"""From text to forms: cut into words and folded, before stop words and stems.

ASCII texts, the most of what arrives, take one pass of `str.translate` and `str.split`, which run at C speed over a
whole batch joined by `BREAK`. Other texts are folded by Unicode's rules: invisible characters out, NFKC, full case
folding, NFKC again. What is a form:

- letters, digits and combining marks, with apostrophes inside (`don't`, `l'eau`); anything else separates, also `_`,
  `-` and emoji;
- a web address is nothing; the sign of `#tag` or `@name` is dropped, the tag is a word; a tag in camel case gives its
  parts as well: `#VeganRamen` is veganramen, vegan, ramen;
- a run of Han, Kana, Hangul, Thai, Lao, Khmer or Burmese has no spaces between words (or endings glued on), so it is
  cut into its pairs of neighbouring characters, marks kept with their letter: 東京都 is 東京, 京都. A run of one
  character is itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

BREAK = "\0"
"""The form that ends each text."""

_JOIN = f" {BREAK} "
# Two patterns: one that starts with a fixed string is searched for ten times as fast.
_HTTP = re.compile(r"https?://\S+")
_WEB = re.compile(r"\b(?:https?://|www\.)\S+", re.IGNORECASE)
_TAG = re.compile(r"#(\w+)")

# ASCII: letters to lower case, digits, apostrophe and BREAK stay, the rest separates.
_ASCII = "".join(chr(c).lower() if chr(c).isalnum() or chr(c) in f"'{BREAK}" else " " for c in range(128))

# Invisible: soft hyphen, joiners, direction marks, variation selectors, fillers. (A zero width space separates.)
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]+"
)
_APOSTROPHES = re.compile("[\u2018\u2019\u201b\u02bc\u02b9\u05f3\u055a]")

# Scripts written without spaces, their digits left out; and Hangul, whose endings are glued to the word.
_DENSE = (
    "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"  # Han
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\U0001b000-\U0001b16f"  # Kana
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff\u3105-\u312f\u31a0-\u31bf"  # Hangul, Bopomofo
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f"  # Thai, Lao, Burmese
    "\u1780-\u17d3"  # Khmer
)
_HAS_DENSE = re.compile(f"[{_DENSE}]")


@cache
def _marks() -> str:
    """All combining marks, for use in a character class: `re` has no name for them, its word characters lack them."""
    codes = [c for c in range(0x20000) if unicodedata.category(chr(c)) in ("Mn", "Mc")]
    starts = [c for i, c in enumerate(codes) if i == 0 or codes[i - 1] != c - 1]
    ends = [c for i, c in enumerate(codes) if i + 1 == len(codes) or codes[i + 1] != c + 1]
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(starts, ends, strict=True))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """A word; a run of a dense script; one character of it with its marks. Made on the first text that needs them."""
    marks = _marks()
    word = rf"\w[\w'{marks}]*"  # an apostrophe at its end goes later, as in ASCII texts
    return re.compile(word), re.compile(f"[{_DENSE}][{_DENSE}{marks}]*"), re.compile(f".[{marks}]*", re.DOTALL)


def fold(text: str) -> str:
    """Unicode's compatibility case folding; apostrophes become `'`."""
    if text.isascii():
        return text.lower()
    text = _INVISIBLE.sub("", text)
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    # Folding leaves the dot of a Turkish capital I on its i: without it, the city is found however it is typed.
    return _APOSTROPHES.sub("'", text).replace("i\u0307", "i")


def _pairs(run: re.Match[str]) -> str:
    characters = (
        run[0] if run[0].isalpha() else _patterns()[2].findall(run[0])
    )  # letters alone need no search for marks
    pairs = map("".join, pairwise(characters)) if len(characters) > 1 else characters
    return f" {' '.join(pairs)} "


def _fold_unicode(text: str) -> str:
    word, dense, _ = _patterns()
    text = fold(text).replace("_", " ")
    if _HAS_DENSE.search(text):
        text = dense.sub(_pairs, text)
    return " ".join(word.findall(text))


def _with_parts(tag: re.Match[str]) -> str:
    name = tag[1]
    if name[1:].islower() or name.isupper():
        return tag[0]
    capitals = [i for i, character in enumerate(name) if character.isupper()]
    cuts = [i for i in capitals if i and (i - 1 not in capitals or name[i + 1 : i + 2].islower())]
    parts = (name[a:b] for a, b in pairwise([0, *cuts, len(name)]))
    return " ".join([tag[0], *(part for part in parts if 1 < len(part) < len(name))])


def forms(texts: Sequence[str]) -> list[str]:
    """The folded forms of all texts in order, each text ended by BREAK."""
    joined = _JOIN.join([*texts, ""])
    if joined.count(BREAK) != len(texts):  # a text holds that very character: there it only separates
        joined = _JOIN.join([*(text.replace(BREAK, " ") for text in texts), ""])
    if "://" in joined:
        joined = _HTTP.sub(" ", joined)
    if "://" in joined or "ww." in joined or "WW." in joined:
        joined = _WEB.sub(" ", joined)
    if "#" in joined:
        joined = _TAG.sub(_with_parts, joined)
    if not joined.isascii():
        pieces = joined.split(BREAK)
        joined = _JOIN.join([p.translate(_ASCII) if p.isascii() else _fold_unicode(p) for p in pieces])
    else:
        joined = joined.translate(_ASCII)
    return joined.split()

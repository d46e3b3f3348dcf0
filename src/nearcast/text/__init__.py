"""Words to weights: tokens, vocabulary, tf-idf (DESIGN.md, section 1; paper, section 3).

text -> fold.forms -> Tokenizer.word -> Vocabulary ids -> kernels/weights.py -> TermVectors
"""

from nearcast.text.checks import (
    MAX_MESSAGE_WORDS,
    MAX_SUBSCRIPTION_WORDS,
    MAX_TEXT,
    MAX_WORDS,
    check_text,
    text_problem,
)
from nearcast.text.tokens import Tokenizer
from nearcast.text.vocabulary import TermVectors, Vocabulary, Words

__all__ = [
    "MAX_MESSAGE_WORDS",
    "MAX_SUBSCRIPTION_WORDS",
    "MAX_TEXT",
    "MAX_WORDS",
    "TermVectors",
    "Tokenizer",
    "Vocabulary",
    "Words",
    "check_text",
    "text_problem",
]

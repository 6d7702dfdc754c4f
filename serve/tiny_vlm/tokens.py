"""The tokenizer: byte-level BPE of 768 tokens, trained on the prompts; each digit is a token."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

VOCABULARY = 768
SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
PAD, START, END, VISION_START, VISION_END, IMAGE, VIDEO = range(len(SPECIAL))
PLAIN = ("<think>", "</think>")
"""Added tokens that a server's decoder doesn't remove."""


def learn(texts: Iterable[str]) -> Any:
    """Train a `tokenizers.Tokenizer` of at most VOCABULARY tokens; few words make fewer."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    words = pre_tokenizers.Split(Regex(r"\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]|\s+"), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(PLAIN),
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in PLAIN])
    return tokenizer


def load(folder: Path) -> Any:
    """Load the tokenizer of a checkpoint."""
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(folder / "tokenizer.json"))

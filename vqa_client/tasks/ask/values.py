"""Reads choices, answers and turns from the cells of one row."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from vqa_client.tables.pictures import literal
from vqa_client.tables.rows import Here

LABELS: Final = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
AnswerForm = Literal["letter", "text", "0", "1"]
"""The form of an answer to a choice: its letter, its text, or its number from 0 or from 1."""
FORMS: Final[tuple[AnswerForm, ...]] = ("letter", "text", "0", "1")
_YES_NO: Final = {True: ("yes", "true"), False: ("no", "false")}
_KINDS: Final = {dict: "an object", list: "a list", set: "a set", Here: "an image", type(None): "null"}
_USER: Final = ("user", "human")
_ASSISTANT: Final = ("assistant", "gpt", "model")
_LETTER: Final = re.compile(r"(?:(?:choice|option)s?[_ ]?)?([A-Z])", re.IGNORECASE)
_LABELLED: Final = re.compile(r"\s*\(?(?P<label>[A-Z])[.):]\s+(?P<text>.*)", re.DOTALL)


def texts_of(value: Any, separator: str = "") -> list[str]:
    """The texts of a cell: a list, a JSON or Python list as text, one text, or a text that is split at a separator.

    An object of VQA 2.0 is the text of its `answer`, and `true` is two texts: yes and true. Raises ValueError.
    """
    if isinstance(value, str):
        if separator:
            return [part.strip() for part in value.split(separator) if part.strip()]
        parsed = literal(value)
        if parsed is None:
            return [value] if value else []
        value = parsed
    if value is None:
        return []
    items = value if isinstance(value, list) else [value]
    items = [item["answer"] if isinstance(item, dict) and "answer" in item else item for item in items]
    return [text for item in items for text in (_YES_NO[item] if isinstance(item, bool) else (text_of(item),))]


def text_of(value: Any) -> str:
    """A text, the text of a number, `true` or `false`; raises ValueError for other values."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float):
        raise ValueError(f"expected a text, got {_KINDS.get(type(value), type(value).__name__)}")
    return value if isinstance(value, str) else str(value)


def truth_of(value: Any) -> Any:
    """The Boolean for the text True or False, in any case; other values stay unchanged."""
    return {"true": True, "false": False}.get(value.casefold(), value) if isinstance(value, str) else value


def choices_of(value: Any, separator: str = "") -> dict[str, str]:
    """The choices of a cell by letter: a list of texts, or an object of texts by letters or names of columns.

    Letters such as "A. " and "(A) " are removed where all choices have them in order. Raises ValueError for fewer than
    two choices, more than 26, and two equal ones.
    """
    parsed = literal(value) if isinstance(value, str) and not separator else None
    if parsed is None and isinstance(value, str) and not separator and value.lstrip()[:1] in ("[", "{"):
        raise ValueError(f"the list can't be read: {value[:40]!r}; it is neither JSON nor Python")
    value = value if parsed is None else parsed
    if isinstance(value, Mapping):
        texts = [text_of(text) for text in value.values()]
        matches = [_LETTER.fullmatch(str(label).strip()) for label in value]
        letters = tuple(match[1].upper() for match in matches if match)
        labels = letters if len({*letters}) == len(texts) else LABELS[: len(texts)]
    else:
        texts = [text_of(text) for text in value] if isinstance(value, list) else texts_of(value, separator)
        labels = LABELS[: len(texts)]
    labelled = [_LABELLED.fullmatch(text) for text in texts]
    if all(choice and choice["label"] == label for choice, label in zip(labelled, labels, strict=False)):
        texts = [choice["text"] for choice in labelled if choice]
    if not texts:
        return {}
    if not 2 <= len(texts) <= len(LABELS):
        way_out = " (--choices_separator splits a text)" if isinstance(value, str) and not separator else ""
        raise ValueError(f"{len(texts)} choice{'s' * (len(texts) != 1)}; there must be 2 to {len(LABELS)}{way_out}")
    if twice := next((text for text in texts if texts.count(text) > 1), None):
        raise ValueError(f"two choices are {twice!r}")
    return dict(zip(labels, texts, strict=True))


def readings(answer: Any, choices: Mapping[str, str]) -> dict[AnswerForm, str]:
    """The label that an answer to a choice means, by the forms in which it has a meaning."""
    if isinstance(answer, bool):
        matching = [label for label, choice in choices.items() if choice.strip().casefold() in _YES_NO[answer]]
        return {"text": matching[0]} if len(matching) == 1 else {}
    text = str(answer).strip()
    labels = tuple(choices)
    by_form: dict[AnswerForm, str] = {}
    letter = text.strip("().").upper() if len(text) <= 3 else ""
    if letter in choices:
        by_form["letter"] = letter
    by_text = [label for label, choice in choices.items() if choice.strip() == text]
    if len(by_text) == 1:
        by_form["text"] = by_text[0]
    if re.fullmatch(r"\d{1,2}(\.0)?", text):
        place = int(float(text))
        if place < len(labels):
            by_form["0"] = labels[place]
        if 0 < place <= len(labels):
            by_form["1"] = labels[place - 1]
    return by_form


class Conversation(NamedTuple):
    """A conversation: `texts` are the user's turns, `replies` the replies to all turns before the last.

    `images` are pairs of the place in the conversation and the image; each image has a mark in a text.
    """

    system: str
    texts: tuple[str, ...]
    replies: tuple[str, ...]
    images: list[tuple[str, Any]]
    answer: str | None


def turns_of(value: Any) -> Conversation:
    """Read a conversation; if the last turn is the assistant's, it is the answer to the user's last turn.

    Raises ValueError for another form, and where user and assistant don't take turns.
    """
    if isinstance(value, str):
        value = literal(value)
    if not isinstance(value, list) or not all(isinstance(turn, dict) for turn in value):
        raise ValueError("expected a list of turns, each with role and content")
    turns = [_turn(number, turn) for number, turn in enumerate(value)]
    answer: str | None = None
    if turns and turns[-1][0] in _ASSISTANT:
        answer = turns.pop()[1]
    system = " ".join(text for role, text, _ in turns if role == "system")
    spoken = [turn for turn in turns if turn[0] != "system"]
    for number, (role, _, _) in enumerate(spoken):
        expected = _USER if number % 2 == 0 else _ASSISTANT
        if role not in expected:
            raise ValueError(f"turn {number + 1} has the role {role!r}, and {expected[0]!r} is expected")
    if len(spoken) % 2 == 0:
        raise ValueError("there is no turn of the user to ask" if not spoken else "two turns of the assistant end it")
    users, replies = spoken[::2], spoken[1::2]
    if any(images for _, _, images in replies):
        raise ValueError("a turn of the assistant has an image")
    images = [image for _, _, turn_images in users for image in turn_images]
    texts, reply_texts = (tuple(text for _, text, _ in turns) for turns in (users, replies))
    return Conversation(system, texts, reply_texts, images, answer)


def _turn(number: int, turn: Mapping[str, Any]) -> tuple[str, str, list[tuple[str, Any]]]:
    """The role of a turn, its text with the marks of its images, and the images with their places."""
    role = str(turn.get("role", turn.get("from", ""))).lower()
    key = "content" if "content" in turn else "value"
    content = turn.get(key)
    if isinstance(content, str):
        return role, content, []
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise ValueError("the content of a turn is a text, or a list of parts with a type each")
    texts: list[str] = []
    images: list[tuple[str, Any]] = []
    for at, part in enumerate(content):
        kind = part.get("type")
        if kind == "text":
            texts.append(str(part.get("text", "")))
        elif kind in ("image", "image_url"):
            name = "image_url" if "image_url" in part else "image"
            image, place = part.get(name), f".{number}.{key}.{at}.{name}"
            images.append((place + ".url", image.get("url")) if isinstance(image, dict) else (place, image))
            texts.append("<image>")
        else:
            raise ValueError(f"a part of a turn has the type {kind!r}")
    return role, "\n".join(texts), images

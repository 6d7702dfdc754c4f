"""Checks of a benchmark of one's own: the types in its declaration, and the places of its functions."""

import inspect
from collections.abc import Callable, Mapping
from functools import cache, partial
from os.path import basename, dirname, sep
from types import CodeType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import force_setattr

from vqa_client.errors import UsageError, VqaClientError
from vqa_client.types import ANSWERED, Answer, Question

_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "True or False", NoneType: "None"}
_CHARACTERS = 100
_PACKAGE = dirname(__file__) + sep
_hints = cache(get_type_hints)


def is_ours(file: str) -> bool:
    """Whether a file is of this package, not of one whose name only begins with ours."""
    return file.startswith(_PACKAGE)


def place_of(function: object) -> str:
    """Where a user's function begins, in brackets; "" for a function of this package, and for one without source."""
    code = _code_of(function)
    return f" ({basename(code.co_filename)}, line {code.co_firstlineno})" if code else ""


def line_in(function: object, error: Exception) -> str:
    """The last line of a user's file that an error passed through, in brackets; "" if it passed through none."""
    code, at = _code_of(function), error.__traceback__
    frames = []
    while code is not None and at is not None:
        frames += [at.tb_lineno] if at.tb_frame.f_code.co_filename == code.co_filename else []
        at = at.tb_next
    return f" ({basename(code.co_filename)}, line {frames[-1]})" if code and frames else ""


def _code_of(function: object) -> CodeType | None:
    """The code of a function of another package, of the one in a partial, or of an object that can be called."""
    while isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(function) if inspect.isfunction(function) else function
    call = function if hasattr(function, "__code__") else type(function).__call__
    code = getattr(call, "__code__", None)
    return None if code is None or is_ours(code.co_filename) else code


def shown(value: object) -> str:
    """A value in an error, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]} ..."


def named(error: Exception, place: str) -> Exception:
    """The same error, with the place where it was raised: before the words of ours, in a note of any other."""
    if isinstance(error, VqaClientError):
        error.args = (f"{place}: {error}",)
    else:
        error.add_note(place)
    return error


def text_of(function: str | Callable[[Question], str], question: Question, name: str) -> str:
    """A text, or the one that a function returns for a question; raises UsageError if that is none.

    `name` is what the text is.
    """
    if isinstance(function, str):
        return function
    place = f"{name} of question {question.id!r}"
    try:
        text = function(question)
    except Exception as error:
        raise named(error, place) from error.__cause__
    if not isinstance(text, str):
        raise UsageError(f"{place} is {shown(text)}{place_of(function)}", hint="return a text")
    return text


def checked_answer(answer: object, question: Question, read: object) -> Answer:
    """What a reading returned for a question; raises UsageError where it isn't an answer that a record can have."""
    if isinstance(answer, Answer):
        text, rule = answer.text, answer.rule
        if (text is None or isinstance(text, str)) and isinstance(rule, str) and answer.status in ANSWERED:
            return answer
    raise UsageError(
        f"the reading of question {question.id!r} is {shown(answer)}{place_of(read)}",
        hint="return Answer(text='...'), or Answer(status='unparsed') where the reply has no answer",
    )


def check_fields(declared: Struct, name: str) -> None:
    """Raise TypeError for a field whose value its type doesn't allow, and for a function that takes other arguments.

    A list in a field of a tuple becomes a tuple.
    """
    for field, hint in _hints(type(declared)).items():
        value = getattr(declared, field)
        if type(value) is list and get_origin(hint) is tuple:
            force_setattr(declared, field, value := tuple(value))
        _check(value, hint, f"{name}.{field}" if name else field)


def _check(value: Any, hint: Any, place: str) -> None:
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        _check_union(value, hint, place)
    elif kind is Callable and callable(value):
        _check_arguments(value, arguments[0], place)
    elif kind is tuple and isinstance(value, tuple):
        for at, item in enumerate(value):
            _check(item, arguments[0], f"{place}[{at}]")
    elif kind in (dict, Mapping) and isinstance(value, Mapping):
        for key, item in value.items():
            _check(key, arguments[0], f"a key of {place}")
            _check(item, arguments[1], f"{place}[{key!r}]")
    elif not _has_kind(value, kind, arguments):
        raise TypeError(f"{place} is {shown(value)}; it must be {_words(hint)}")
    elif isinstance(kind, type) and issubclass(kind, Struct):
        check_fields(value, place)


def _has_kind(value: Any, kind: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether a value is of a plain type; any other value of a type with arguments is checked before."""
    if kind is Literal:
        return value in arguments
    if kind is type:
        return isinstance(value, type) and issubclass(value, arguments[0])
    if kind in (int, float) and isinstance(value, bool):
        return False
    return kind is Any or isinstance(value, (int, float) if kind is float else kind)


def _check_union(value: Any, hint: Any, place: str) -> None:
    """Check a value as the type of a union that it seems to be."""
    for kind in get_args(hint):
        if value in get_args(kind) if get_origin(kind) is Literal else isinstance(value, get_origin(kind) or kind):
            return _check(value, kind, place)
    raise TypeError(f"{place} is {shown(value)}; it must be {_words(hint)}")


def _check_arguments(function: Callable[..., Any], kinds: Any, place: str) -> None:
    if kinds is ...:
        return
    try:
        inspect.signature(function).bind(*kinds)
    except ValueError:  # a function in C may have no signature
        return
    except TypeError:
        given = ", ".join(getattr(kind, "__name__", str(kind)) for kind in kinds) or "nothing"
        raise TypeError(f"{place}{place_of(function)} can't be called with {given}") from None


def _words(hint: Any) -> str:
    """A type in words."""
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        words = list(dict.fromkeys(map(_words, arguments)))
        return f"{', '.join(words[:-1])} or {words[-1]}"
    if kind is Literal:
        return f"one of {', '.join(arguments)}"
    if kind is tuple:
        return f"a tuple, each item {_words(arguments[0])}"
    if kind in (dict, Mapping):
        return "a dict"
    if kind is Callable:
        return "a function"
    name: str = getattr(arguments[0] if kind is type else kind, "__name__", str(kind))
    return _WORDS.get(kind, name)

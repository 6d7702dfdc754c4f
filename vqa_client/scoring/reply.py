"""Take a reply apart once, before any benchmark reads it: its thoughts, its truncation, and whether it answers."""

import html
import re
from typing import Final, Literal

from msgspec import Struct

from vqa_client.scoring.finish import meaning_of
from vqa_client.scoring.patterns import behind
from vqa_client.scoring.plain import MARKED, plain
from vqa_client.scoring.refusal import may_refuse, refuses
from vqa_client.scoring.thoughts import ends_well, without_thoughts
from vqa_client.scoring.wrappers import Unwrapped, answer_and_explanation, unwrapped
from vqa_client.types import Answer, Completion, Record, Status

_TURN_END = re.compile(
    r"<\|(?:im_end|endoftext|end_of_text|eot_id|eom_id|return|user|observation)\|>|<end_of_turn>|</s>|<eos>|<｜end▁of▁sentence｜>"
)
_BOX_TOKEN = re.compile(r"<\|(begin|end)_of_box\|>")
_TOKEN = re.compile(
    r"<\|[^<>|\n]{0,40}\|>|<｜[^<>\n]{0,40}｜>|</?s>|<(?:bos|eos|pad|unk|start_of_turn|end_of_turn)>|\[/?INST\]"
)
_OPENING = re.compile(rf"(?:\s|{_TOKEN.pattern}|{_TURN_END.pattern})*")
_ROLE = re.compile(r"\s*(?:assistant|model|ai|bot)\s*(?::|\n)\s*", re.IGNORECASE)
_NEXT_QUESTION = re.compile(
    r"\A(\s*+\W{0,6}(?:(?:the )?(?:final |correct |right )?answer\W{0,6}(?:is\W{0,6})?)?\w{1,3}\W{0,6}?)"
    r"\n\s*(?:question|q|user|human)\s{0,2}\d{0,3}\s?:",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[\x04\x05]")
_TAG_AS_ENTITY = re.compile(r"&(?:lt|#0{0,5}60|#x0{0,5}3c);", re.IGNORECASE)


class Reply(Struct, frozen=True, kw_only=True):
    """A completion, taken apart; published readings get its `raw` text, all others the visible text.

    `visible` has no thoughts, special tokens, role name or invented turns, no HTML entities if tags are written with
    them, and is otherwise unchanged; `marked` is the same with `MARKED` for the tokens around an answer. `cut`: the
    token limit or an unfinished thought ended it. `source` is "reasoning" if a model that stopped by itself put
    everything into that field. `status` is None if there is something to read.
    """

    completion: Completion
    visible: str
    marked: str
    cut: bool
    source: Literal["content", "reasoning"]
    status: Status | None

    @property
    def raw(self) -> str:
        """The unchanged text; of a runaway reply, the part that is read."""
        return read_part(self.completion.text)

    @property
    def unwrapped(self) -> Unwrapped:
        """The answer without its wrappers ("" if they are empty), and its explanation."""
        return unwrapped(self.marked.strip() if MARKED[0] in self.marked else self.visible)

    @property
    def text(self) -> str:
        """The answer only."""
        return self.unwrapped.answer

    @property
    def peeled(self) -> str:
        """The visible text in the plain form that `plain` describes."""
        text = html.unescape(self.marked) if "&" in self.marked else self.marked
        found = answer_and_explanation(text)
        return plain(f"{MARKED[0]}{found[0]}{MARKED[1]}" if found else text)

    @property
    def declines(self) -> bool:
        """Whether it begins with a refusal; an answer may follow."""
        return may_refuse(self.visible) and refuses(self.peeled)

    def without_answer(self) -> Answer:
        """The result for a reply with a status, or with empty wrappers."""
        rule = self.completion.finish_reason if self.status == "refused" else "no_text"
        return Answer(status=self.status or ("truncated" if self.cut else "empty"), rule=rule or "")


def reply_from(completion: Completion) -> Reply:
    """Take a completion apart, in time linear in its length."""
    meaning = meaning_of(completion.finish_reason)
    limited = meaning == "cut"
    marked, unclosed, turned = _own_turn(read_part(completion.text), cut=limited)
    source: Literal["content", "reasoning"] = "content"
    visible = _without_marks(marked)
    if not visible and meaning == "stopped" and completion.reasoning and not unclosed:
        reasoning = read_part(completion.reasoning)
        marked, unclosed, turned = _own_turn(reasoning if ends_well(reasoning) else "", cut=False)
        visible = _without_marks(marked)
        source = "reasoning" if visible else "content"
    cut = (limited and not turned) or unclosed
    status: Status | None = "truncated" if cut else "empty"
    if meaning in ("filtered", "refused"):
        status = "refused"
    elif visible:
        status = None
    return Reply(completion=completion, visible=visible, marked=marked, cut=cut, source=source, status=status)


def kept_completion(record: Record) -> Completion:
    """The completion that a record saved; an empty one for a question without a reply."""
    return Completion(
        text=record.output or "",
        reasoning=record.reasoning,
        finish_reason=record.finish_reason,
        first_token=record.first_token or None,
    )


def said_in(text: str) -> str:
    """The visible part of a text, as `Reply.visible`."""
    return _without_marks(_own_turn(text, cut=False)[0])


def _without_marks(marked: str) -> str:
    return _MARKS.sub(" ", marked).strip()


def _own_turn(text: str, *, cut: bool) -> tuple[str, bool, bool]:
    """The text of the model's own turn, whether its thought is unfinished, and whether the turn ended.

    A turn ends at an end token, an invented user or another question.
    """
    if _TAG_AS_ENTITY.search(text):
        text = html.unescape(text)
    text, unclosed = without_thoughts(_MARKS.sub("", text), cut=cut)
    end = None
    if "<" in text or "[" in text:
        opening = _OPENING.match(text)
        end = _TURN_END.search(text, opening.end() if opening else 0)
        text = text[: end.start()] if end else text
        text = _BOX_TOKEN.sub(lambda token: MARKED[0] if token[1] == "begin" else MARKED[1], text)
        text = _TOKEN.sub(" ", text)
    text = behind(_ROLE, text)
    further = _NEXT_QUESTION.match(text) if "\n" in text else None
    turn = further[1] if further else text
    return turn, unclosed, bool(further) or (end is not None and _without_marks(turn) != "")


READING_VERSION: Final = "10"
"""Changes when the reading of replies changes for all benchmarks; saved replies are then scored again."""
READ_CHARACTERS: Final = 100_000
"""Only the first and the last half of this number are read of a longer reply."""
_THOUGHT_ENDS: Final = (
    *("</think>", "</thinking>", "</thought>", "</thoughts>", "</reasoning>", "</seed:think>", "◁/think▷", "[/THINK]"),
    *("<|channel|>final<|message|>", "<channel|>", "<|end_of_thought|>", "<|END_THINKING|>", "<unused95>"),
)


def read_part(text: str) -> str:
    """The beginning and the end of a long reply, with the last end of a thought from the part between them."""
    if len(text) <= READ_CHARACTERS:
        return text
    half = READ_CHARACTERS // 2
    at, end = max((text.rfind(end, half, -half), end) for end in _THOUGHT_ENDS)
    return "\n".join((text[:half], *([end] if at >= 0 else ()), text[-half:]))

"""What a finish reason means, whatever server spells it and how."""

import re
from typing import Final, Literal

Meaning = Literal["stopped", "cut", "filtered", "refused", "exhausted", "broken", "called"]
"""Of a reply: the model ended it, a token limit did, a filter did, or the model declined; the server lacked resources
or broke off (asked again); the model called a tool, which is an answer only where there is text."""

GIVEN: Final = "given"
"""The finish reason of a blank that stands as an answer in a file of predictions."""

_WORDS: Final[dict[Meaning, str]] = {
    "stopped": "stop stopped stop_sequence stop_token stop_word stop_criteria eos eos_token eot end end_turn"
    " end_of_turn end_of_sequence complete completed done finished finish success"
    " given",
    "cut": "length max_length length_limit max_tokens max_token max_new_tokens max_output_tokens max_completion_tokens"
    " max_tokens_reached token_limit limit model_length max_model_length context_length context_length_exceeded"
    " context_window_exceeded model_context_window_exceeded incomplete truncated error_limit repetition"
    " repetition_truncation pause_turn",
    "filtered": "content_filter content_filtered filter filtered safety image_safety image_prohibited_content"
    " recitation image_recitation prohibited_content blocklist block_list blocked spii sensitive error_toxic moderation"
    " content_moderation content_policy content_policy_violation responsible_ai_policy_violation guardrail"
    " guardrails guardrail_intervened data_inspection_failed unsafe",
    "refused": "refusal refused",
    "exhausted": "insufficient_system_resource insufficient_system_resources overloaded overloaded_error"
    " resource_exhausted out_of_memory oom preempted capacity",
    "broken": "error abort aborted cancelled canceled cancel user_cancel failed failure timeout time_out network_error"
    " server_error internal_error internal_server_error engine_error interrupted malformed_response",
    "called": "tool_calls tool_call tool_use function_call malformed_function_call malformed_tool_call"
    " unexpected_tool_call",
}
_NOT_LETTERS: Final = re.compile(r"[^a-z]")
_LONGEST: Final = 80


def _folded(word: str) -> str:
    return _NOT_LETTERS.sub("", word[:_LONGEST].lower()).removeprefix("finishreason")


_MEANINGS: Final[dict[str, Meaning]] = {
    form: meaning for meaning, words in _WORDS.items() for word in words.split() for form in (word, _folded(word))
}


def meaning_of(finish_reason: str | None) -> Meaning | None:
    """What a finish reason says of its reply, in any case and with any signs between its words; None if unknown."""
    if not finish_reason:
        return None
    return _MEANINGS.get(finish_reason) or _MEANINGS.get(_folded(finish_reason))


def is_cut(finish_reason: str | None) -> bool:
    """Whether a token limit ended the reply."""
    return meaning_of(finish_reason) == "cut"


def is_blocked(finish_reason: str | None) -> bool:
    """Whether a filter or the model itself declined to answer."""
    return meaning_of(finish_reason) in ("filtered", "refused")

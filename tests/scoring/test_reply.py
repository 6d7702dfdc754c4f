"""How a reply is taken apart: thoughts, visible text, wrappers, truncation."""

import pytest

from tests.linear_time import RATIO, growth
from vqa_client.scoring.finish import meaning_of
from vqa_client.scoring.plain import EMPHASIS, MARKED, plain
from vqa_client.scoring.reply import Reply, reply_from
from vqa_client.scoring.wrappers import Unwrapped, answer_in_json, labelled
from vqa_client.types import Answer, Completion


def taken(text: str, finish_reason: str | None = None, reasoning: str | None = None) -> Reply:
    return reply_from(Completion(text=text, finish_reason=finish_reason, reasoning=reasoning))


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("<think>x</think>B", "B"),
        ("x</think>B", "B"),
        ("<think>x</think>A<think>y</think>B", "AB"),
        ("A<think>x", "A"),
        ("<|im_start|>assistant\nB<|im_end|>\n<|im_start|>user\nC", "B"),
        ("B<end_of_turn>\nC", "B"),
        ("# Title\n\n\n\ntext  with\tspaces\r\nend", "Title\ntext with spaces\nend"),
        ("***\nB\n---", "B"),
        ("（Ｂ）。", "(B)."),
        ("a\u200bb\ufeffc", "abc"),
        ("x < 5 and y > 3", "x < 5 and y > 3"),
        ("<p>one</p><p>two</p>", "one\ntwo"),
        ("~~A~~ B", "B"),
        ("\\text{B}", "(B)"),
        ("\\frac{1}{2}", "\\frac(1)(2)"),
        ("2*3*4", "2*3*4"),
        ("snake_case_name", "snake_case_name"),
        ("$7", "7"),
        ("B\n\nQuestion: next\nAnswer: D", "B"),
        ("<mm:think>A</mm:think>B", "B"),
        ("A</mm:think>B", "B"),
        ("[unused16]A[unused17]B", "B"),
        ("<|inner_prefix|>A<|inner_suffix|>B", "B"),
        ("<|thinking|>A<|/thinking|>B", "B"),
        ("<|begin_of_thought|>A<|end_of_thought|><|begin_of_solution|>B<|end_of_solution|>", "B"),
        ("<|thinking|>A<|answer|>B", "B"),
        ("<thought_process>A</thought_process>B", "B"),
        ("<|im_start|>assistant\n<inner_monologue>A</inner_monologue>B", "B"),
        ("[reflection]A[/reflection]B", "B"),
        ("[reasoning] B", "(reasoning) B"),
        ("B <my_reason>wet</my_reason>", "B wet"),
        ("<my_reason>A</my_reason><think>A</think>B", "B"),
        ("Here is my thought process:\nA\n\nHere is my response:\nB", "B"),
        ("**Here's my reasoning:** A\n\n**My final answer:** B", "B"),
        ("Here is my reasoning: B", "Here is my reasoning: B"),
        ("<seed:think>A<seed:cot_budget_reflect>x</seed:cot_budget_reflect>A</seed:think>B", "B"),
        ("<|START_THINKING|>A<|END_THINKING|><|START_RESPONSE|>B<|END_RESPONSE|>", "B"),
        ("<|channel>thought\nA<channel|>B", "B"),
        ("analysisIt could be A.assistantfinalB", "B"),
        ("analysis: B", "analysis: B"),
        ("<|im_start|>think\nA<|im_end|>\n<|im_start|>answer\nB<|im_end|>", "B"),
        ("<｜think▁begin｜>A<｜think▁end｜>B", "B"),
        ('<details type="reasoning" done="true">\n<summary>Thought</summary>\nA</details>\nB', "B"),
        ("B <details><summary>Why</summary>wet</details>", "B Why wet"),
        ("<Thought>A</Thought>\n\n<Output>B</Output>", f"{MARKED[0]}B{MARKED[1]}"),
        ("<REASONING>A?</REASONING><CONCLUSION>B</CONCLUSION>", f"{MARKED[0]}B{MARKED[1]}"),
        ("Thinking Process:\n\n1. A?\n</think>\n\nB", "B"),
    ],
)
def test_a_reply_is_peeled_to_its_visible_text(reply: str, text: str) -> None:
    assert taken(reply).peeled == text


@pytest.mark.parametrize("reply", ["**B**", "__B__", "*B*", "`B`", "<b>B</b>", "<em>B</em>"])
def test_emphasis_is_kept_as_a_mark(reply: str) -> None:
    assert taken(reply).peeled == f"{EMPHASIS[0]}B{EMPHASIS[1]}"


@pytest.mark.parametrize(
    "reply",
    ["\\boxed{B}", "<answer>B</answer>", "<|begin_of_box|>B<|end_of_box|>", '{"answer": "B"}', "[ANSWER]B[/ANSWER]"],
)
def test_an_answer_set_apart_is_kept_as_a_mark(reply: str) -> None:
    assert taken(reply).peeled == f"{MARKED[0]}B{MARKED[1]}"


def test_mark_characters_in_a_reply_are_not_marks() -> None:
    assert taken("\x04B\x05 \x02C\x03").peeled == "B C"


@pytest.mark.parametrize(
    ("reply", "unclosed"),
    [
        ("<think>x", True),
        ("<think>x</think>", False),
        ("x</think>", False),
        ("<mm:think>x", True),
        ("<|inner_prefix|>x", True),
        ("[reasoning] x", False),
        ("analysisThe x", True),
        ("<|im_start|>think\nx", True),
        ('<details type="reasoning" done="false">x', True),
        ("<details>x", False),
        ("Here is my thought process: x", False),
    ],
)
def test_unfinished_reasoning_is_recognised(reply: str, unclosed: bool) -> None:
    assert taken(reply).cut is unclosed


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('{"answer": "B"}', "B"),
        ('{"Final Answer": "B", "answer_confidence": 1}', "B"),
        ('{"thought": "A", "answer": {"letter": "B"}}', "B"),
        ('{"answer": ["A", "C"]}', "A, C"),
        ('{"answer": null}', ""),
        ('{"answer": 2}', "2"),
        ('{"other": "B"}', None),
        ('{"answer": "B"', None),
        ("{B}", None),
        ("answer: B", None),
        ('{"a":' * 100_000, None),
    ],
)
def test_the_answer_is_taken_out_of_json(reply: str, answer: str | None) -> None:
    assert answer_in_json(reply) == answer


def test_plain_text_folds_to_itself() -> None:
    once = plain("The **answer** is “B” — \\textbf{really}: <b>B</b>")
    assert plain(once.translate({2: "", 3: ""})) == once.translate({2: "", 3: ""})


@pytest.mark.parametrize(
    ("reply", "text", "explanation"),
    [
        ("yes", "yes", ""),
        ("<answer>yes</answer>", "yes", ""),
        ("<answer>**Yes.**</answer>", "Yes.", ""),
        ("It is wet. <answer>yes", "yes", "It is wet."),
        ("yes</answer>", "yes", ""),
        ("<answer>no</answer> Wait. <answer>yes</answer>", "yes", "<answer>no</answer> Wait."),
        ("<answer></answer>", "", ""),
        ("[ANSWER]yes[/ANSWER]", "yes", ""),
        ("<|begin_of_box|>yes<|end_of_box|>", "yes", ""),
        ("\\boxed{yes}", "yes", ""),
        ("$\\boxed{\\text{red bus}}$.", "red bus", ""),
        ("\\boxed{no} or \\boxed{7{,}421}", "7,421", ""),
        ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}", ""),
        ("\\boxed{yes", "yes", ""),
        ("**yes**", "yes", ""),
        ("*yes*.", "yes", ""),
        ("<b>yes</b>", "yes", ""),
        ("**a** and **b**", "**a** and **b**", ""),
        ("__init__", "__init__", ""),
        ("```\nyes\n```", "yes", ""),
        ("`yes`", "yes", ""),
        ('{"answer": "yes"}', "yes", ""),
        ('[{"final_answer": "yes", "reason": "it is wet"}]', "yes", "it is wet"),
        ('Sure:\n```json\n{"answer": "yes", "explanation": "because it is wet"}\n```', "yes", "because it is wet"),
        ('{"answer": "yes", "explanation": "it is w', "yes", "it is w"),
        ('{"answer": "\\(x\\)", "confidence": 0.9}', "\\(x\\)", ""),
        ('{"answer": null}', "", ""),
        ('{"answer": ["red", "blue"]}', "red, blue", ""),
        ('{"bbox": [1, 2]}', '{"bbox": [1, 2]}', ""),
        ('{"label": "secret", "value": 7421}', '{"label": "secret", "value": 7421}', ""),
        ('{"label": "neutral", "confidence": 0.9}', "neutral", ""),
        ("7421 [result].", "7421 [result].", ""),
        ("<answer>yes</answer><explanation>it is wet</explanation>", "yes", "it is wet"),
        ("yes & no", "yes & no", ""),
        ("'Yes.'", "Yes.", ""),
        ("「yes」", "yes", ""),
        ("'tis", "'tis", ""),
        ('"a" or "b"', '"a" or "b"', ""),
        ("# yes", "yes", ""),
        ("- **yes**", "yes", ""),
        ("- 6 x", "- 6 x", ""),
        ("$2$", "2", ""),
        ("$2 and $3", "$2 and $3", ""),
        ("<CONCLUSION>\nyes\n</CONCLUSION>", "yes", ""),
        ("{'answer': 'yes', 'explanation': \"it's wet\"}", "yes", "it's wet"),
        ('{"response": {"answer": "yes", "explanation": "it is wet"}}', "yes", "it is wet"),
        ('{"data": [{"answer": "yes", "why": "it is wet"}]}', "yes", "it is wet"),
        ("<explanation>it is wet</explanation><answer>yes</answer>", "yes", "it is wet"),
    ],
)
def test_an_answer_is_taken_out_of_its_wrappers(reply: str, text: str, explanation: str) -> None:
    found = taken(reply).unwrapped
    assert (found.answer, found.explanation) == (text, explanation)


@pytest.mark.parametrize(
    ("reply", "answer", "explanation"),
    [
        ("Answer: yes", "yes", ""),
        ("**Answer:** Yes", "Yes", ""),
        ("Final Answer: **Yes**", "Yes", ""),
        ("The answer is: **blue**", "blue", ""),
        ("A: red", "red", ""),
        ("Q: What colour is the bus?\nA: red", "red", "Q: What colour is the bus?\n"),
        ("Sure! The answer is: red", "red", ""),
        ("Based on the image, the answer is red", "red", ""),
        ("I can't say whether the answer is red", None, ""),
        ("He is sad.\nThe answer to the question is no", "no", "He is sad.\n"),
        ("### Answer\n\nyes", "yes", ""),
        ("答案：yes", "yes", ""),
        ("It is sunny.\n2. Answer: yes", "yes", "It is sunny.\n"),
        ("Answers: yes, no", None, ""),
        ("Answer: yes\nIt is sunny.", None, ""),
        ("It is day.\n\nQuestion: Is it night?\nAnswer: no", None, ""),
    ],
)
def test_a_label_in_the_last_line_introduces_the_answer(reply: str, answer: str | None, explanation: str) -> None:
    assert labelled(reply) == (answer and Unwrapped(answer, explanation))


@pytest.mark.parametrize(
    ("text", "finish_reason", "reasoning", "status", "source"),
    [
        ("B", "stop", "A", None, "content"),
        ("", "stop", "The answer is B.", None, "reasoning"),
        ("", "STOP", "B", None, "reasoning"),
        ("<|im_end|>", "stop", "The answer is B", None, "reasoning"),
        ("", None, "The answer is B.", "empty", "content"),
        ("", "stop", "So the answer is A. Hmm wait, let me check option C again because rails", "empty", "content"),
        ("", "stop", "The code is 7421. Let me look at page 3 again.", "empty", "content"),
        ("", "stop", "The code is 7421. But the table on the", "empty", "content"),
        ("", "stop", "The code may be 7421 or...", "empty", "content"),
        ("", "stop", "The answer is A. Hmm, let me check option C. It has rails.", "empty", "content"),
        ("", "stop", "The answer is A. Wait, let me check if option C is right.", "empty", "content"),
        ("", "stop", "Let me look at the page. The code is 7421.", None, "reasoning"),
        ("", "stop", "It has rails and a pantograph. It must be the tram on the left", "empty", "content"),
        ("", "stop", "red", None, "reasoning"),
        ("", "stop", "答案是A。等等，让我再看一下选项C", "empty", "content"),
        ("", "stop", "答案是A。不对，我再想想", "empty", "content"),
        ("", "eosFound", "The answer is B.", None, "reasoning"),
        ("Thinking Process:\n1. The answer is A. But", "length", None, "truncated", "content"),
        ("", "stop", "Wait, I see it. So the answer is B", None, "reasoning"),
        ("", "stop", "Let me see. It is the tram.\nAnswer: C", None, "reasoning"),
        ("", "length", "The answer is B.", "truncated", "content"),
        ("<think>B", "stop", None, "truncated", "content"),
        ("<think>A</think>", "stop", None, "empty", "content"),
        ("Here is my thought process: B", "length", None, "truncated", "content"),
        ("B", "SAFETY", None, "refused", "content"),
        ("", "content_filter", "The answer is B.", "refused", "content"),
    ],
)
def test_the_status_of_a_reply_is_decided_once(
    text: str, finish_reason: str | None, reasoning: str | None, status: str | None, source: str
) -> None:
    reply = taken(text, finish_reason, reasoning)
    assert (reply.status, reply.source) == (status, source)
    rule = finish_reason if status == "refused" else "no_text"
    assert status is None or reply.without_answer() == Answer(status=status, rule=rule)


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        ("stop STOP end_turn EndTurn eos eos_token COMPLETE stop_sequence", "stopped"),
        ("length LENGTH MAX_TOKENS max-tokens maxTokens FINISH_REASON_MAX_TOKENS max_output_tokens", "cut"),
        ("FinishReason.MAX_TOKENS model_length model_context_window_exceeded repetition", "cut"),
        ("maxPredictedTokensReached contextLengthReached REASON_MAX_CONTEXT ERROR_LIMIT time_limit limit", "cut"),
        ("ALTERNATIVE_STATUS_TRUNCATED_FINAL incomplete", "cut"),
        ("normal eosFound stopStringFound REASON_EOS ALTERNATIVE_STATUS_FINAL FINISH", "stopped"),
        ("ALTERNATIVE_STATUS_CONTENT_FILTER blacklist ERROR_TOXIC SPII IMAGE_SAFETY moderation_blocked", "filtered"),
        ("sensitive_words_detected InputImageSensitiveContentDetected DataInspectionFailed", "filtered"),
        ("modelUnloaded userStopped USER_CANCEL timeout engine_error", "broken"),
        ("rate_limit_exceeded", "exhausted"),
        ("content_filter ContentFilter SAFETY RECITATION PROHIBITED_CONTENT guardrail_intervened", "filtered"),
        ("refusal REFUSAL", "refused"),
        ("insufficient_system_resource OVERLOADED", "exhausted"),
        ("error abort ABORTED cancelled network_error", "broken"),
        ("tool_calls TOOL_USE function_call", "called"),
        ("UNSAFE blocked PROMPT_BLOCKED content_policy_violation responsible_ai_policy", "filtered"),
        ("resource_exhausted out_of_memory OOM preempted capacity", "exhausted"),
        ("unfinished pause_turn", "cut"),
        ("FAILED interrupted MALFORMED_RESPONSE", "broken"),
        ("eot_id end done success given", "stopped"),
        ("why account_blocked connection_refused OTHER FINISH_REASON_UNSPECIFIED", None),
    ],
)
def test_a_finish_reason_means_the_same_in_any_spelling(words: str, meaning: str | None) -> None:
    assert {word: meaning_of(word) for word in words.split()} == dict.fromkeys(words.split(), meaning)


def test_only_the_beginning_of_a_finish_reason_is_read() -> None:
    assert [meaning_of("x" * before + "length") for before in (0, 74, 75)] == ["cut", "cut", None]


LONG = 20_000
PIECES = (
    *("<think>", "</think>", "<mm:think>", "[think]", "[/reason", "<|thinking|>", "<|", "<", "[", "{", "}", "\\boxed{"),
    *(
        "\\boxed{}",
        "```",
        "*",
        "**a",
        "`",
        "$\\",
        "\\text{",
        "<answer>",
        "</answer>",
        "\x04",
        "\x05",
        '"a":',
        "\n",
        " ",
    ),
    *("Here is my ", "here is my response", "my answer:\n", "my reasoning: ", "kann nicht ", "<b>", "&lt;", "wait. "),
    *(
        '"',
        "'a",
        "$a",
        "# ",
        "answer:",
        "\nanswer: a",
        "answer\n",
        "\nquestion:",
        '<details type="reasoning">',
        "analysisA",
    ),
)


def read_in_every_way(text: str) -> None:
    for each in (taken(text, "length"), taken("", "stop", text)):
        assert each.text is not None
        assert each.peeled is not None
        labelled(each.visible)


@pytest.mark.parametrize("piece", PIECES)
def test_time_is_linear_in_the_length_of_a_reply(piece: str) -> None:
    assert growth(read_in_every_way, piece, LONG).ratio < RATIO

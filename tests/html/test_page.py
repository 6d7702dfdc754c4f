"""The page as text: its content, and that foreign text is never markup."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.html.samples import HOSTILE, corrupted, facts, failed, hostile, mixed, needles, record, write_run
from tests.html.samples_judged import sample_judged
from vqa_client.errors import UsageError
from vqa_client.html import page as pages
from vqa_client.html.figures import heat, judgings, rows_of_judges, statuses
from vqa_client.html.page import number, write_page
from vqa_client.reports.judged import judged_path
from vqa_client.reports.logged_run import read_run
from vqa_client.reports.overview import overview
from vqa_client.scoring.agreement import Kappa
from vqa_client.types import ANSWERED, STATUSES, Record
from vqa_client.unseen import unseen


class Elements(HTMLParser):
    """The elements and attributes of a page, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def html_of(tmp_path: Path, records: list[Record], run: Any = None) -> str:
    found = read_run(write_run(tmp_path, records, run=run))
    path = tmp_path / "page.html"
    write_page(path, overview(found))
    return path.read_text(encoding="utf-8")


def said(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html.partition('<section id="questions"')[0]).split())


def test_both_accuracies_and_all_statuses_are_on_the_page(tmp_path: Path) -> None:
    text = said(html_of(tmp_path, list(mixed())))
    assert "60.0 % accuracy by the robust parser over all questions, a failed one counts as wrong" in text
    assert "70.6 % accuracy by the robust parser over answered questions" in text
    assert "ok 80.0 80 an answer was read unparsed 5.0 5" in text
    assert "timeout 15.0 15 no reply in time; counts as wrong" in text
    assert "50.2\u200a–\u200a69.1" in text.replace("&#8202;", "\u200a")


MEANINGS = {
    "ok": "an answer was read",
    "unparsed": "the reply names no answer",
    "ambiguous": "the reply names several answers",
    "truncated": "the reply was cut before an answer",
    "refused": "the model would not answer",
    "empty": "the reply is empty",
    "bad_image": "an image can't be sent",
    "too_long": "too long for the model's context",
    "too_many_images": "more images than the server takes",
    "bad_response": "the server's reply can't be read",
    "rate_limited": "refused by the server's rate limit",
    "timeout": "no reply in time",
    "connection": "the connection failed",
    "server_error": "an error of the server",
    "rejected": "the server rejected the request",
}


def test_each_status_is_shown_with_what_it_means(tmp_path: Path) -> None:
    records = [record(at, right=False, status=status) for at, status in enumerate(MEANINGS)]
    found = overview(read_run(write_run(tmp_path, records)))
    shown = {figure.label: figure.note for figure in statuses(found)}
    assert list(shown) == list(MEANINGS) == list(STATUSES)
    assert shown == {
        status: meaning + ("" if status in ANSWERED else "; counts as wrong") for status, meaning in MEANINGS.items()
    }


def test_judges_of_a_run_are_shown_with_the_notes_on_all_of_them(tmp_path: Path) -> None:
    log = write_run(tmp_path, [record()])
    kappa = Kappa(value=0.5, agreement=0.75, n=4, clusters=4)
    of = replace(sample_judged(name="judge"), scored={"parser": "other"}, pairs={"a and b": kappa}, fleiss=kappa)
    judged_path(log, "correct").write_bytes(msgspec.json.encode(of))
    judged_path(log, "match").write_bytes(b"{")
    shown, notes = judgings(read_run(log))
    assert notes == [
        "correct: the rule's scores are from before the run was scored again; judge --kind correct has today's",
        "judge: note",
        "kappa of a and b: 0.500, n 4",
        "Fleiss' kappa of all judges: 0.500, n 4",
        f"{judged_path(log, 'match').name} can't be read: ask the judge again",
    ]
    assert [one.title for one in shown] == ["correct by judge"]
    assert [figure.label for figure in shown[0].figures] == ["by the judge", "by the rule (robust)"]
    [raised, lowered] = (f"#judge=correct+by+judge%2F{side}" for side in ("raised", "lowered"))
    assert shown[0].cells == (("rule right", ((4, ""), (0, lowered))), ("rule wrong", ((0, raised), (4, ""))))
    judged_path(log, "match").unlink()
    judged_path(log, "correct").write_bytes(msgspec.json.encode(replace(of, scored={}, fleiss=None, pairs={})))
    assert judgings(read_run(log))[1] == ["judge: note"]
    differing = sample_judged(name="judge", raised=("q1", "gone"), lowered=("q2",))
    judged_path(log, "correct").write_bytes(msgspec.json.encode(differing))
    rows = rows_of_judges(read_run(log), [("q0", ""), ("q1", ""), ("q2", "")])
    assert rows == [{"name": "correct by judge", "raised": [1], "lowered": [2]}]


def test_nothing_foreign_becomes_markup(tmp_path: Path) -> None:
    calm = Elements(html_of(tmp_path / "calm", [record(n, variant=str(n)) for n in range(len(HOSTILE))]))
    attacked = facts()
    attacked["identity"] |= {"task": HOSTILE[0], "variant": HOSTILE[1], "model": {"model_name": HOSTILE[2]}}
    attacked["described"][HOSTILE[3]] = HOSTILE[0]
    wild = Elements(html_of(tmp_path / "wild", hostile(), attacked))
    assert wild.tags.count("script") == calm.tags.count("script") == 2
    assert "img" not in wild.tags
    assert not [name for name, _ in wild.attributes if name.startswith("on")]
    assert not [
        value for name, value in wild.attributes if name == "href" and not (value or "").startswith(("#", "data:"))
    ]
    assert "{{ 7 * 7 }}" in wild.text


def test_no_control_character_and_no_override_reaches_the_tables(tmp_path: Path) -> None:
    html = html_of(tmp_path, hostile()).partition('id="data"')[0]
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]", html)
    assert "safe [U+202E]exe.tab[U+202C] end" in html


def test_the_script_finds_the_same_invisible_characters(tmp_path: Path) -> None:
    script = re.search(r"const UNSEEN = /(.*)/gu;", html_of(tmp_path, [record()]))
    assert script is not None
    found = re.compile(re.sub(r"\\u\{(\w+)\}", lambda code: f"\\U{code[1]:0>8}", script[1]))
    assert all(
        bool(found.search(f"a{chr(number)}")) == bool(unseen(lines=True).search(f"a{chr(number)}"))
        for number in (*range(0x3200), *range(0xFE00, 0x10000), *range(0xE0000, 0xE1000), 0x1D173)
    )


def test_the_page_needs_no_network(tmp_path: Path) -> None:
    found = Elements(html_of(tmp_path, list(mixed())))
    assert not [value for name, value in found.attributes if value and re.match(r"(https?:)?//", value)]
    policy = next(v for n, v in found.attributes if n == "content")
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    live = pages.policy(live=True).replace("; connect-src 'self'; ", "; ", 1)
    assert live != pages.policy(live=True)
    live = live.replace("'self'", "file:")
    digest = "'sha256-[^ ']{44}'"
    for each in (policy, live):
        rest = "; img-src data: file:; base-uri 'none'; form-action 'none'"
        assert re.fullmatch(
            f"default-src 'none'; script-src {digest} {digest} {digest}; style-src {digest}{rest}", each
        )


def test_the_data_can_be_read_back_from_the_page(tmp_path: Path) -> None:
    html = html_of(tmp_path, hostile())
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert block is not None
    assert len(json.loads(block[1])["rows"]) == len(HOSTILE)


@pytest.mark.parametrize(
    "records",
    [[], [record()], needles(60), corrupted(4), list(mixed())],
    ids=["none", "one", "needles", "levels", "mixed"],
)
def test_any_run_has_a_page(tmp_path: Path, records: list[Record]) -> None:
    assert "Settings and fingerprint" in html_of(tmp_path, records)


def test_the_page_of_a_running_run_says_how_much_is_missing(tmp_path: Path) -> None:
    text = said(html_of(tmp_path, [record(1), record(2)], facts(expected=5)))
    assert "started 2026-11-28 03:45:51+00:00 · 2 of 5 questions · clean_mc_eval.records.jsonl" in text
    assert "What it got wrong" not in text
    assert "Not finished: 3 questions without a record yet." in text


def test_totals_of_the_run_are_on_the_page_with_intervals_and_points(tmp_path: Path) -> None:
    declared = {"headline": "robust", "leading_total": "f1", "totals": {"f1": "harmonic mean", "points": ""}}
    figures = {
        "f1": {"robust": {"value": 0.5, "low": 0.25, "high": 0.75, "pieces": 9}},
        "points": {"robust": {"value": 14, "low": 7, "high": 21, "pieces": 4}, "published": {"value": None}},
    }
    run = facts(benchmark=declared | {"points": {"points": 28.0}}, totals=figures)
    html = html_of(tmp_path, [record(1), record(2, right=False)], run).replace("&#8202;", "").replace("&#8239;", " ")
    text = said(html)
    assert "50.0 % accuracy over f1 95 % interval 25.0–75.0 (delete-a-group jackknife, 9 clusters) · n = 2" in text
    assert (
        "Totals of the run f1, robust 50.0 25.0–75.0 points, robust: 14.0 of 28 points 50.0 25.0–75.0 "
        "points, published – –"
    ) in text
    assert html.count('title="harmonic mean"') == 1


def test_fields_that_are_crossed_are_a_heat_map_whose_cells_lead_to_their_questions(tmp_path: Path) -> None:
    html = html_of(tmp_path, corrupted(4))
    assert '<a href="#by.corruption=snow&amp;by.level=5"' in html
    assert html.count('class="curve small"') == 3
    assert [heat(share) for share in (None, 0.0, 0.34, 1.0)] == ["heat-none", "heat-0", "heat-3", "heat-10"]


def test_of_very_many_values_only_the_most_frequent_are_shown_in_their_order(tmp_path: Path) -> None:
    records = [record(n, groups={"kind": str(n % 42)}) for n in range(82)]  # two values occur once
    html = html_of(tmp_path, records)
    assert re.findall(r'href="#by.kind=(\d+)"', html) == [str(n) for n in range(40)]
    assert "2 less frequent values are left out here." in html
    assert "less frequent" not in html_of(tmp_path / "few", records[:40])


def test_fields_with_one_value_in_the_shown_variant_are_not_crossed(tmp_path: Path) -> None:
    groups = [{"size": size, "shape": shape} for size in "ab" for shape in "cd"]
    records = [record(n, variant=of["size"], groups=of) for n, of in enumerate(groups)]
    assert "shape ×" not in said(html_of(tmp_path, records))
    assert "shape × size" in said(html_of(tmp_path / "whole", [replace(each, variant="") for each in records]))


def test_the_page_is_the_same_for_any_order_of_the_log(tmp_path: Path) -> None:
    records = needles(40)
    assert html_of(tmp_path / "a", records) == html_of(tmp_path / "b", records[::-1])


def test_without_jinja_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    pages.environment.cache_clear()
    with pytest.raises(UsageError, match=r"^HTML reports need jinja2$") as caught:
        html_of(tmp_path, [record()])
    assert caught.value.hint.endswith("pip install 'vqa-client[html]'")


@pytest.mark.parametrize(
    ("value", "text"), [(0.01234, "0.0123"), (12.345, "12.3"), (123.4, "123"), (12_345.6, "12,300"), (0, "0"), (5, "5")]
)
def test_numbers_have_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert number(value) == text


def robustness() -> dict[str, Any]:
    run = facts(expected=64)
    run["identity"] |= {"task": "vqa2", "corruption_seed": 0}
    return run


def test_a_robustness_page_is_of_the_clean_images_and_says_so(tmp_path: Path) -> None:
    records = [replace(one, score=float(one.variant == "clean")) for one in corrupted(4)]
    html = html_of(tmp_path, records, robustness())
    assert "<title>robustness run of vqa2 · clean images · org/model-7b</title>" in html
    text = said(html)
    assert "100.0 % VQA accuracy (ten answers) over all questions of clean images; 16 variants in the table" in text
    assert "64 questions in 16 variants" in text
    assert "All 16 variants corruption × level" in text
    assert "snow/5 0.0" in text
    assert "Not finished" not in text
    assert 'href="#by.variant=clean&amp;status=ok"' in html


def test_a_robustness_run_without_clean_images_says_so(tmp_path: Path) -> None:
    records = [one for one in corrupted(4) if one.variant != "clean"]
    text = said(html_of(tmp_path, records, robustness()))
    assert "robustness run of vqa2 · variant gaussian_noise/1, no clean images" in text
    assert "Not finished: 4 questions without a record yet." in text


def test_repeats_are_shown_together_and_a_failed_one_is_in_the_table(tmp_path: Path) -> None:
    records = [record(n, variant=f"repeat/{at}", right=at == 1) for n in range(3) for at in range(1, 5)]
    records += [failed(n, variant="repeat/5") for n in range(3)]
    text = said(html_of(tmp_path, records))
    assert "pass@1: mean of 5 repeats · accuracy by the robust parser ; 5 variants in the table below" in text
    assert re.search(r"repeat/5 0\.0 \S+ 3 3 ", text)
    assert "chosen questions of variant repeat/1; “-” without an answer" in text
    assert "Position bias of variant repeat/1 place" in text


def test_one_cluster_is_singular(tmp_path: Path) -> None:
    text = said(html_of(tmp_path, [record(n, cluster="one") for n in range(3)]))
    assert "1 clusters" not in text


def test_settings_with_their_defaults_are_listed_apart(tmp_path: Path) -> None:
    usual = {"limit": None, "split": "", "pages": "all", "thinking": "auto", "circular": False, "retry": []}
    usual |= {"parser": "robust", "choice_mode": "text"}
    given = {"max_workers": 3, "pages_dpi": 99, "prompt_form": "official", "sample": 5, "repeat": 2}
    html = html_of(tmp_path, [record()], facts(settings=usual | given))
    _, _, settings = html.partition("<summary>Settings given</summary>")
    of_given, _, others = settings.partition("<summary>Settings left at their defaults</summary>")
    assert re.findall(r"<dt>(\w+)</dt>", of_given) == list(given)
    assert re.findall(r"<dd>(.*?)</dd>", of_given.partition("</details>")[0]) == ["3", "99", "official", "5", "2"]
    assert "<dt>start 1.wall_s</dt>" in others
    assert re.findall(r"<summary>(.*?)</summary>", html.partition("Settings and fingerprint")[2])[:6] == [
        "What decides the answers",
        "How replies are read and scored",
        "Settings given",
        "Settings left at their defaults",
        "Server, versions and data",
        "Each start",
    ]
    assert re.findall(r"<dt>(\w+)</dt>", others.partition("</details>")[0]) == list(usual)


def test_a_difference_of_zero_has_no_sign(tmp_path: Path) -> None:
    text = said(html_of(tmp_path, [record(n, variant=form) for n in range(3) for form in ("seen", "blind")]))
    assert re.search(r" all 0\.0 -\d+\.\d to \+\d+\.\d 100\.0 100\.0 1 3 ", text)


def test_the_fingerprint_is_of_identity_and_data_in_any_order(tmp_path: Path) -> None:
    run = facts()
    turned = run | {"identity": dict(reversed(run["identity"].items()))}
    others = [facts(data_sha256="cd" * 32), run | {"identity": run["identity"] | {"task": "niah"}}]
    [first, same, *different] = [
        pages.fingerprint(read_run(write_run(tmp_path / str(n), [record()], run=of)))
        for n, of in enumerate((run, turned, *others))
    ]
    assert (first, len(first)) == (same, 16)
    assert len({first, *different}) == 3
    assert f"Run fingerprint {first} : the digest of everything that decides what is sent." in said(
        html_of(tmp_path, [record()])
    )


LATE_REPLY = """
const posts = [], replies = [];
const fetch = (path, sent) => new Promise((give) => { posts.push(JSON.parse(sent.body)); replies.push(give); });
%s
(async () => {
  const said = [], report = (problem) => said.push(problem || "saved");
  unsaved.set("a", "a, first").set("b", "b, first");
  const earlier = save(report);
  unsaved.set("b", "b, last");
  const later = save(report);
  for (let n = 0; n < 3; n += 1) { replies.pop()?.({ ok: true }); await new Promise(setImmediate); }
  await Promise.all([earlier, later]);
  console.log(JSON.stringify({ posts, said }));
})();
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node, which runs the script here, is not installed")
def test_only_the_last_form_of_a_note_that_changes_while_another_is_sent_is_saved() -> None:
    script = LATE_REPLY % (Path(pages.__file__).parent / "notes.js").read_text(encoding="utf-8")
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"posts": ["a, first", "b, last"], "said": ["saved"]}

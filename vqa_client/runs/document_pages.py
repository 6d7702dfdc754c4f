"""Chooses the pages that a question is asked with: all, those with its evidence, or those that a search finds."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from msgspec.structs import replace

from vqa_client.cpus import usable_cpus
from vqa_client.data_url import LRUCache
from vqa_client.errors import DataError, UsageError
from vqa_client.pages.legibility import check_reader, text_of
from vqa_client.parallel import Processes
from vqa_client.reports.names import safe_name
from vqa_client.reports.varied import write_page_forms
from vqa_client.runs.plan import Plan, per_plan
from vqa_client.runs.varied import varied
from vqa_client.settings.declared import ALL_PAGES, EVIDENCE, RETRIEVED, PageOptions
from vqa_client.shipped import importing
from vqa_client.tables.inside import open_image, split_name
from vqa_client.tables.pdf_pages import document_of, page_texts
from vqa_client.types import Question

KEPT_TEXTS = 4096
Choose = Callable[[int, Question], tuple[str, ...]]
"""The images of the question with this number in the data."""


@per_plan
def with_pages(plan: Plan, settings: PageOptions) -> Plan:
    """The plan with the pages that its benchmark declares, drawn at --dpi, and with one form of --pages if given."""
    declared = plan.opened.benchmark.pages
    assert declared is not None
    dpi = settings.dpi or declared.dpi
    most, count = declared.most, plan.loaded.count
    plan = plan.asking(
        partial(_with_chosen_pages, choose=lambda number, question: _at_resolution(question.images[:most], dpi)), count
    )
    if dpi != declared.dpi:
        plan = replace(plan, identity={**plan.identity, "dpi": dpi})
    forms = settings.page_forms
    if len(forms) > 1 or forms == (ALL_PAGES,):
        return plan
    showing = partial(_with_chosen_pages, choose=_chooser(forms[0], plan))
    of_form = varied(plan, safe_name(forms[0]), showing, count=count, write=plan.write, pages=forms[0])
    return replace(of_form, shown=forms[0])


@per_plan
def vary_pages(plan: Plan, settings: PageOptions) -> Plan:
    """The plan with a variant for each form of --pages, which shows whether reading or finding fails."""
    choosers = {form: _chooser(form, plan) for form in settings.page_forms}
    numbers = {question.id: number for number, question in enumerate(plan.loaded.questions)}

    def forms(questions: Iterable[Question]) -> Iterator[Question]:
        for question in questions:
            for form, choose in choosers.items():
                yield replace(question, variant=form, images=choose(numbers[question.id], question))

    asked = ",".join(choosers)
    of_forms = varied(
        plan, "pages", forms, count=len(choosers) * plan.loaded.count, write=write_page_forms, asked=f"pages {asked}"
    )
    return replace(of_forms, is_mixed=True)


def _with_chosen_pages(questions: Iterable[Question], choose: Choose) -> Iterator[Question]:
    for number, question in enumerate(questions):
        yield replace(question, images=choose(number, question))


def _at_resolution(names: tuple[str, ...], dpi: int) -> tuple[str, ...]:
    """The pages; those of a PDF are drawn at this resolution, images stay unchanged."""
    return tuple(f"{name.rpartition('@')[0]}@{dpi}" if document_of(name)[1] else name for name in names)


def _chooser(form: str, plan: Plan) -> Choose:
    if form == ALL_PAGES:
        return lambda number, question: question.images
    if form == EVIDENCE:
        if not any(question.evidence for question in plan.loaded.questions):
            raise UsageError(
                f"--pages {EVIDENCE}: this data names no evidence pages", hint="--pages all or retrieved:K"
            )
        return lambda number, question: tuple(
            question.images[page - 1] for page in question.evidence if page <= len(question.images)
        )
    most = int(form.removeprefix(RETRIEVED))
    best_pages = array("i")
    with closing(_Search()) as search:
        for question in plan.loaded.questions:
            best = search.best_pages(question, most)
            best_pages.extend([*best, *[-1] * (most - len(best))])

    def choose(number: int, question: Question) -> tuple[str, ...]:
        return tuple(question.images[page] for page in best_pages[number * most : (number + 1) * most] if page >= 0)

    return choose


class _Search:
    """Finds pages by BM25 over their texts: a PDF's text layer, else what OCR reads in other processes.

    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), as bm25s computes it (method Lucene).
    """

    def __init__(self) -> None:
        self._texts: LRUCache[str, str] = LRUCache(KEPT_TEXTS, lambda _: 1)
        self._processes: Processes[str, str] | None = None
        self._pages: tuple[str, ...] = ()
        self._scores: Callable[[str], Sequence[float]] = lambda question: ()

    def best_pages(self, question: Question, most: int) -> list[int]:
        """The indexes of the pages that match the question best, in the order of the document."""
        if question.images != self._pages:  # neighbouring questions are mostly about one document
            self._pages, self._scores = question.images, self._scorer(question.images)
        scores = self._scores(question.text)
        ranked = sorted(range(len(question.images)), key=lambda page: (-scores[page], page))
        return sorted(ranked[:most])

    def close(self) -> None:
        if self._processes is not None:
            self._processes.close()

    def _scorer(self, pages: tuple[str, ...]) -> Callable[[str], Sequence[float]]:
        """A function that scores the pages of a document for a question; without any text all scores are equal."""
        with importing("retrieval", "--pages retrieved needs bm25s"):
            import bm25s
        texts = self._read(pages)
        if not any(text.strip() for text in texts):
            return lambda question: [0.0] * len(pages)
        index = bm25s.BM25()
        index.index(_tokens(bm25s, texts), show_progress=False)

        def scores(question: str) -> Sequence[float]:
            words = [word for word in _tokens(bm25s, [question])[0] if word in index.vocab_dict]
            return [float(score) for score in index.get_scores(words)] if words else [0.0] * len(pages)

        return scores

    def _read(self, pages: tuple[str, ...]) -> list[str]:
        layers: dict[str, list[str]] = {}
        texts: dict[str, str] = {}
        images: list[str] = []
        for name in pages:
            document, page = document_of(name)
            if page:
                if document not in layers:
                    layers[document] = _text_layers(document)
                texts[name] = layers[document][page - 1]
            elif (known := self._texts.get(name)) is not None:
                texts[name] = known
            else:
                images.append(name)
        for name, text in zip(images, self._by_ocr(images), strict=True):
            self._texts.put(name, text)
            texts[name] = text
        return [texts[name] for name in pages]

    def _by_ocr(self, names: Sequence[str]) -> list[str]:
        if not names:
            return []
        if self._processes is None:
            check_reader()
            self._processes = Processes(text_of, usable_cpus())
        return [future.result() for future in [self._processes.submit(name) for name in names]]


def _tokens(bm25s: Any, texts: Sequence[str]) -> list[list[str]]:
    tokens: list[list[str]] = bm25s.tokenize(list(texts), stopwords="en", return_ids=False, show_progress=False)
    return tokens


def _text_layers(document: str) -> list[str]:
    try:
        return page_texts(document, open_image(document).read() if split_name(document)[1] else None)
    except ValueError as error:
        raise DataError(f"{document}: {error}", hint="leave --pages retrieved out") from None

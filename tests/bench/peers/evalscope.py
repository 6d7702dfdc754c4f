"""evalscope: a JSONL file of its `general_vmcq` (choices) or `general_vqa` (free answers) and `--eval-batch-size 128`.

It sends files as they are, in threads on the synchronous SDK. Choices are scored by their letter, free answers by the
one metric that it can't do without, Rouge. `--no-collect-perf` leaves out what a streaming run would tell.
"""

import json

from tests.bench.clients.longbench import MAX_TOKENS, MODEL, Item
from tests.bench.peers.peer import Asked, Peer

NAME = "evalscope"
TEMPLATE = "{question}\n\n{choices}"


def prepare(asked: Asked) -> list[str]:
    """Write the data file, as the split that the benchmark reads."""
    benchmark, split, row = _FORMS[asked.items[0].task]
    data = asked.folder / "data"
    data.mkdir()
    lines = (json.dumps(row(item)) + "\n" for item in asked.items)
    (data / f"questions_{split}.jsonl").write_text("".join(lines), encoding="utf-8")
    options = {"local_path": str(data), "subset_list": ["questions"]}
    if benchmark == "general_vmcq":
        options["prompt_template"] = TEMPLATE
    else:
        options["metric_list"] = ["Rouge"]
    generation = {"max_tokens": MAX_TOKENS, "temperature": 0, "timeout": 600}
    words = [PEER.program("evalscope"), "eval", "--model", MODEL, "--api-url", asked.base_url, "--api-key", "none"]
    words += ["--eval-type", "openai_api", "--datasets", benchmark, "--dataset-args", json.dumps({benchmark: options})]
    words += ["--generation-config", json.dumps(generation), "--eval-batch-size", str(asked.workers)]
    return [*words, "--no-collect-perf", "--work-dir", str(asked.folder / "output")]


def _choices(item: Item) -> dict[str, object]:
    question, choices, _ = item.prompt.split("\n\n")
    options = [choice.partition(". ")[2] for choice in choices.split("\n")]
    marks = "".join(f"<image {at}>" for at in range(1, len(item.pages) + 1))
    images = {f"image_{at}": str(page) for at, page in enumerate(item.pages, 1)}
    return {"question": f"{marks}{question}", "options": options, "answer": item.answer, **images}


def _free(item: Item) -> dict[str, object]:
    content = [{"type": "image_url", "image_url": {"url": str(page)}} for page in item.pages]
    message = {"role": "user", "content": [*content, {"type": "text", "text": item.prompt}]}
    return {"messages": [message], "answer": item.answer}


_FORMS = {"mc": ("general_vmcq", "val", _choices), "niah": ("general_vqa", "test", _free)}

PEER = Peer(name=NAME, prepare=prepare, questions={"small": 512, "document": 60})

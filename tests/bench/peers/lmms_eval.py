"""lmms-eval: a task of its own YAML form and the model `async_openai` with `num_cpus=128`, its number of workers.

`async_openai` is the faster of its two API models at this concurrency. The task hands over paths, so that its cache of
encoded images works (`LMMS_IMAGE_PATH_CACHE_MAX_ITEMS`, raised to hold all), and nothing is decoded before it is sent.
It sends each image as a new PNG; as JPEG it would be quicker and another picture.
"""

import json
import shutil

from tests.bench.clients.longbench import MAX_TOKENS, MODEL
from tests.bench.peers.peer import TASKS, Asked, Peer

NAME = "lmms-eval"
YAML = """\
task: questions
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
  cache_dir: {cache}
test_split: test
output_type: generate_until
doc_to_visual: !function lmms_eval_questions.pages
doc_to_text: !function lmms_eval_questions.text
doc_to_messages: !function lmms_eval_questions.messages
doc_to_target: target
generation_kwargs:
  max_new_tokens: {max_tokens}
  temperature: 0
  do_sample: false
process_results: !function lmms_eval_questions.scored
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
metadata:
  - version: 0.0
"""


def prepare(asked: Asked) -> list[str]:
    """Write data.jsonl, and the task with its functions beside it."""
    tasks, data = asked.folder / "tasks", asked.folder / "data.jsonl"
    tasks.mkdir()
    rows = ({"prompt": item.prompt, "target": item.answer, "pages": list(map(str, item.pages))} for item in asked.items)
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    yaml = YAML.format(data=data, cache=asked.folder / "cache", max_tokens=MAX_TOKENS)
    (tasks / "questions.yaml").write_text(yaml, encoding="utf-8")
    shutil.copy(TASKS / "lmms_eval_questions.py", tasks)
    model = f"model_version={MODEL},base_url={asked.base_url},api_key=none,num_cpus={asked.workers}"
    words = [PEER.program("python"), "-m", "lmms_eval", "--model", "async_openai", "--model_args", model]
    words += ["--tasks", "questions", "--include_path", str(tasks), "--batch_size", "1"]
    return [*words, "--output_path", str(asked.folder / "output"), "--log_samples"]


PEER = Peer(
    name=NAME,
    prepare=prepare,
    questions={"small": 512, "document": 60},
    environment={
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "LMMS_IMAGE_PATH_CACHE_MAX_ITEMS": "4096",
        "CUDA_VISIBLE_DEVICES": "",
    },
)

"""lm-eval: a task of its own YAML form and the model `local-chat-completions` with `num_concurrent=128`.

`max_images` lifts its limit of one image. It reads images with Pillow and sends each as a new PNG, all bodies made
before the first is sent; neither has a setting.
"""

import json
import shutil

from tests.bench.clients.longbench import MAX_TOKENS, MODEL
from tests.bench.peers.peer import TASKS, Asked, Peer

NAME = "lm-eval"
MOST_PAGES = 20
YAML = """\
task: questions
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: generate_until
doc_to_image: !function lm_eval_questions.images
doc_to_text: !function lm_eval_questions.text
doc_to_target: target
generation_kwargs:
  until: []
  max_gen_toks: {max_tokens}
  temperature: 0
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
"""


def prepare(asked: Asked) -> list[str]:
    """Write data.jsonl, and the task with its functions beside it."""
    tasks, data = asked.folder / "tasks", asked.folder / "data.jsonl"
    tasks.mkdir()
    rows = ({"prompt": item.prompt, "target": item.answer, "pages": list(map(str, item.pages))} for item in asked.items)
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tasks / "questions.yaml").write_text(YAML.format(data=data, max_tokens=MAX_TOKENS), encoding="utf-8")
    shutil.copy(TASKS / "lm_eval_questions.py", tasks)
    model = f"model={MODEL},base_url={asked.base_url}/chat/completions,num_concurrent={asked.workers}"
    words = [PEER.program("lm_eval"), "run", "--model", "local-chat-completions", "--model_args"]
    words += [f"{model},max_images={MOST_PAGES},timeout=600", "--tasks", "questions", "--include_path", str(tasks)]
    return [*words, "--apply_chat_template", "--output_path", str(asked.folder / "output"), "--log_samples"]


PEER = Peer(
    name=NAME,
    prepare=prepare,
    questions={"small": 256, "document": 20},
    environment={"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "OPENAI_API_KEY": "none"},
)

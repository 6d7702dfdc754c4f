"""Writes longbench/data.json from `documents/`: a record for each file, in order of names.

python data/records.py longbench/data.json
"""

import hashlib
import json
import sys
import tomllib
from pathlib import Path


def record(path: Path) -> dict[str, str]:
    """A record in the schema of LongBench-v2; the id comes from the file's name."""
    source = tomllib.loads(path.read_text(encoding="utf-8"))
    paragraphs = (" ".join(lines.split()) for lines in source.pop("context").strip().split("\n\n"))
    return {
        "_id": hashlib.sha256(path.stem.encode()).hexdigest()[:24],
        "domain": source.pop("domain"),
        "sub_domain": source.pop("sub_domain"),
        "difficulty": source.pop("difficulty"),
        "length": "short",  # by the benchmark's own bounds: all of these are far below 32,000 words
        **source,
        "context": "\n\n".join(paragraphs),
    }


if __name__ == "__main__":
    records = [record(path) for path in sorted((Path(__file__).parent / "documents").glob("*.toml"))]
    output = Path(sys.argv[1])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

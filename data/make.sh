#!/bin/sh
# Makes longbench/ and niah/ from documents/, and shapes/, in this folder or in the one that is given.
# So few pages are made sooner by one process than others would start.
set -eu
data=$(dirname "$0")
out=${1:-$data}
PYTHONPATH="$data/../serve" python "$data/shapes.py" "$out/shapes"
python "$data/records.py" "$out/longbench/data.json"
vqa-client needles --data_json "$out/longbench/data.json" --output "$out/niah/data.json" --seed 42
for task in longbench niah; do
  places=$([ $task = niah ] && echo --line_bbox || true) # a run's page marks the needle's line
  vqa-client render --data_json "$out/$task/data.json" --output "$out/$task/clean" \
    --dpi 88 --font_size 12 --line_height 18 --margins 60 --workers 1 $places
  vqa-client perturb --images "$out/$task/clean" --output "$out/$task" --perturbation dpi:56 jpeg:10 \
    --data_json "$out/$task/data.json" --workers 1
done

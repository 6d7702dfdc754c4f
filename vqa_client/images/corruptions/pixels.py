"""Rounding, blurring and zooming, which several corruptions share."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Pixels = npt.NDArray[np.uint8]
    """(H, W, 3) uint8, RGB."""
    Floats = npt.NDArray[np.float32]


def rounded(values: "npt.NDArray[Any]") -> "Pixels":
    """Clip to 0..255 and round to the nearest integer, as VQA-VRB's script does."""
    import cv2

    # One pass: numpy's clip, rint and astype would make two copies of four bytes per value.
    return cv2.addWeighted(values, 1, values, 0, 0, dtype=cv2.CV_8U)  # type: ignore[return-value]


def cut(values: "npt.NDArray[Any]") -> "Pixels":
    """Clip values in [0, 1], scale them to 0..255 and cut the fraction off, as ImageNet-C's script does."""
    import numpy as np

    made: Pixels = (np.clip(values, 0, 1) * 255).astype(np.uint8)
    return made


def gaussian_blur(values: "Floats", sigma: float, *, truncate: float, border: int) -> "Floats":
    """Blur with scikit-image's kernel, which has `truncate` times `sigma` pixels on each side."""
    import cv2

    width = 2 * int(truncate * sigma + 0.5) + 1
    return cv2.GaussianBlur(values, (width, width), sigma, borderType=border)  # type: ignore[return-value]


def zoom_crop(size: int, zoom: float) -> int:
    """How many of `size` pixels this zoom shows; at least one."""
    import math

    return math.ceil(size / zoom)


def zoomed(crop: "Floats", zoom: float, height: int, width: int) -> "Floats":
    """Enlarge linearly, corner pixels on corner pixels as scipy's zoom does, and cut out the middle (height, width).

    Exact from OpenCV 5 on; earlier versions place pixels with a precision of 1/32.
    """
    import cv2
    import numpy as np

    (step_y, trim_y), (step_x, trim_x) = (
        _steps(crop_length, zoom, length) for crop_length, length in zip(crop.shape[:2], (height, width), strict=True)
    )
    to_crop = np.array([[step_x, 0, trim_x * step_x], [0, step_y, trim_y * step_y]])
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(  # type: ignore[return-value]
        crop, to_crop, (width, height), flags=flags, borderMode=cv2.BORDER_REPLICATE
    )


def _steps(crop_length: int, zoom: float, length: int) -> tuple[float, int]:
    """The step in the crop between enlarged pixels, and the number of enlarged pixels that are cut off at the start."""
    enlarged = round(crop_length * zoom)
    return (crop_length - 1) / max(enlarged - 1, 1), (enlarged - length) // 2

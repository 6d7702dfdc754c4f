"""The six classes that corruptions are reported by, and the spellings that corruptions go by."""

CLASSES: dict[str, tuple[str, ...]] = {
    "Noise": ("shot_noise", "gaussian_noise", "impulse_noise", "speckle_noise"),
    "Blur": ("defocus_blur", "zoom_blur"),
    "Weather": ("snow",),
    "Image Attribute": ("brightness", "contrast", "saturation"),
    "Physical": ("elastic", "spatter"),
    "Digital": ("pixelate", "jpeg_compression"),
}
UNCLASSED = "Other"

_SHORT = {"bright": "brightness", "saturate": "saturation", "splatter": "spatter", "elastic_transform": "elastic"}
_ENDINGS = ("", "_noise", "_blur", "_compression")
_CLASS_OF = {name: title for title, names in CLASSES.items() for name in names}


def known_name(corruption: str) -> str:
    """Give our name of a corruption in any usual spelling ("Shot", "Shot-noise", "JPEG"); else its snake case."""
    plain = "_".join(corruption.lower().replace("-", " ").replace("_", " ").split())
    plain = _SHORT.get(plain, plain)
    return next((plain + ending for ending in _ENDINGS if plain + ending in _CLASS_OF), plain)


def class_of(corruption: str) -> str:
    """Give the class of a corruption in any usual spelling; "Other" for an unknown one."""
    return _CLASS_OF.get(known_name(corruption), UNCLASSED)

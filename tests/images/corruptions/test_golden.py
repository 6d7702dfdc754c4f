"""Constants and pictures are those that were looked at: digests where pixels are exact, else means."""

import json

import numpy as np

from tests.images.corruptions.golden import PATH, all_described


def test_every_corruption_has_the_kept_constants_and_gives_the_kept_picture() -> None:
    kept = json.loads(PATH.read_text())
    now = all_described()
    assert now.keys() == kept.keys()
    for key, value in now.items():
        if isinstance(value, str) or key.endswith("constants"):
            assert value == kept[key], key
        else:
            np.testing.assert_allclose(value, kept[key], atol=0.3, err_msg=key)

import pytest
from PIL import Image

from vqa_client.errors import UsageError
from vqa_client.pages.perturbations import parse, parse_all, perturbed


@pytest.mark.parametrize(
    ("text", "folder", "values"),
    [
        ("dpi:56", "adv_dpi_56", {"dpi": 56}),
        ("fontsize:7", "adv_fontsize_7", {"font_size": 7}),
        ("jpeg:10", "adv_jpeg_10", {"quality": 10}),
        ("webp:20", "adv_webp_20", {"quality": 20}),
        ("binary", "adv_binary", {}),
        ("noise", "adv_noise", {"noise_type": "gaussian", "intensity": 0.1}),
        ("noise:gaussian:0.1", "adv_noise", {"noise_type": "gaussian", "intensity": 0.1}),
        (
            "noise:salt_and_pepper",
            "adv_noise_salt_and_pepper_0.1",
            {"noise_type": "salt_and_pepper", "intensity": 0.1},
        ),
        ("noise:gaussian:.25", "adv_noise_gaussian_0.25", {"noise_type": "gaussian", "intensity": 0.25}),
        ("blur", "adv_blur", {"radius": 1.25}),
        ("blur:2", "adv_blur_2", {"radius": 2.0}),
        ("resample:bilinear:0.50", "adv_resample_bilinear_0.5", {"method": "bilinear", "scale": 0.5}),
        ("upscale", "adv_upscale", {"dpi": 48}),
        ("upscale:36", "adv_upscale_36", {"dpi": 36}),
    ],
)
def test_each_perturbation_has_the_published_folder_and_values(
    text: str, folder: str, values: dict[str, int | float | str]
) -> None:
    found = parse(text)
    assert (found.folder, dict(found.values)) == (folder, values)
    assert parse(found.spec) == found


def test_what_is_asked_for_twice_is_made_once() -> None:
    assert [each.folder for each in parse_all(("blur", "jpeg:10", "blur:1.25", "jpeg:20"))] == [
        *("adv_blur", "adv_jpeg_10", "adv_jpeg_20"),
    ]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("jpg:10", "'jpg:10' is unknown", "did you mean jpeg:QUALITY?"),
        ("font_size:7", "is unknown", "did you mean fontsize:FONT_SIZE?"),
        ("", "'' is unknown", "it may be dpi:N"),
        ("qqqq", "is unknown", "it may be dpi:N"),
        ("jpeg", "needs a quality", "quality: a whole number from 1 to 100"),
        ("jpeg:0", "the quality is '0'; it must be a whole number from 1 to 100", ""),
        ("jpeg:ten", "the quality is 'ten'", ""),
        ("jpeg:10.5", "the quality is '10.5'", ""),
        ("jpeg:10:20", "too many values", "write jpeg:QUALITY"),
        ("binary:1", "too many values", "write binary"),
        ("noise:salt", "the noise_type is 'salt'; it must be one of gaussian, salt_and_pepper", "salt_and_pepper?"),
        ("noise:gaussian:nan", "the intensity is 'nan'", ""),
        ("resample:bilinear", "needs a scale", "scale: a number from 0.01 to 0.99"),
        ("resample:bilenear:0.5", "the method is 'bilenear'", "did you mean bilinear?"),
        ("resample:bilinear:2", "the scale is '2'", ""),
        ("blur:inf", "the radius is 'inf'", ""),
    ],
)
def test_an_unknown_one_is_named_with_the_nearest_known(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(text)
    assert message in str(raised.value)
    assert hint in raised.value.hint


def test_greys_above_128_become_white() -> None:
    greys = Image.frombytes("L", (3, 1), bytes([127, 128, 129]))
    assert perturbed(greys, parse("binary"), b"").convert("L").tobytes() == bytes([0, 0, 255])

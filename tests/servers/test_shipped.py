import pytest

from vqa_client import shipped as module
from vqa_client.errors import UsageError
from vqa_client.shipped import shipped


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package folder of its own, with nothing beside it."""
    folder = tmp_path / "vqa_client"
    folder.mkdir()
    monkeypatch.setattr(module, "__file__", str(folder / "shipped.py"))
    return folder


def test_a_checkout_has_the_folders_beside_the_package():
    assert (shipped("data") / "longbench" / "data.json").is_file()
    assert (shipped("serve") / "reader" / "__main__.py").is_file()


def test_an_installed_package_has_them_inside(package):
    (package / "config").mkdir()
    assert shipped("config") == package / "config"


def test_a_folder_beside_an_installed_package_is_somebody_elses(package):
    (package.parent / "data").mkdir()
    with pytest.raises(UsageError, match="the folder data/ is missing") as caught:
        shipped("data")
    assert caught.value.hint

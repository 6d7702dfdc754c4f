import importlib.metadata
import json
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from vqa_client import shipped as module
from vqa_client.errors import UsageError
from vqa_client.shipped import install, shipped


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A separate package folder with nothing next to it."""
    folder = tmp_path / "vqa_client"
    folder.mkdir()
    monkeypatch.setattr(module, "__file__", str(folder / "shipped.py"))
    installed_from(monkeypatch, None)
    return folder


def installed_from(monkeypatch, url):
    """Record that the package was installed from this address, as pip does; None: from an index."""
    origin = url and json.dumps({"url": url, "dir_info": {}})
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: SimpleNamespace(read_text=lambda _: origin))


def test_a_checkout_has_the_folders_beside_the_package():
    assert (shipped("data") / "longbench" / "data.json").is_file()
    assert (shipped("serve") / "reader" / "__main__.py").is_file()


def test_an_installed_package_has_its_folders_inside(package):
    (package / "config").mkdir()
    assert shipped("config") == package / "config"


def test_an_installed_package_finds_the_clone_it_was_installed_from(package, monkeypatch, tmp_path):
    (tmp_path / "a clone" / "serve" / "tiny_vlm").mkdir(parents=True)
    installed_from(monkeypatch, f"file://{tmp_path}/a%20clone")
    assert shipped("serve/tiny_vlm") == tmp_path / "a clone" / "serve" / "tiny_vlm"


@pytest.mark.parametrize(
    "url", [None, "file:///nowhere/vqa_client-0.1.0-py3-none-any.whl", "https://example.org/x.whl"]
)
def test_without_a_clone_the_error_says_what_the_sample_data_need(package, monkeypatch, url):
    (package.parent / "data").mkdir()  # a folder next to an installed package belongs to another package
    installed_from(monkeypatch, url)
    with pytest.raises(UsageError, match="data/ isn't part of the installed package") as caught:
        shipped("data")
    assert str(caught.value).endswith(", and the source tree that it came from isn't found")
    assert str(caught.value.hint).startswith("in a clone of vqa-client: ")
    assert str(caught.value.hint).endswith(" -m pip install . (and keep the clone)")
    monkeypatch.setattr(importlib.metadata, "distribution", Mock(side_effect=importlib.metadata.PackageNotFoundError))
    with pytest.raises(UsageError, match="data/ isn't part of the installed package"):
        shipped("data")


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/home/a/.local/pipx/venvs/vqa-client", "pipx inject vqa-client 'vqa-client[html]'"),
        ("/home/a/.local/share/uv/tools/vqa-client", "uv tool install 'vqa-client[html]'"),
        ("/home/a/uv/venvs/b", f"{sys.executable} -m pip install 'vqa-client[html]'"),
        ("/home/a/pipx/tools/b", f"{sys.executable} -m pip install 'vqa-client[html]'"),
    ],
)
def test_an_extra_is_installed_by_what_installed_the_program(monkeypatch, prefix, command):
    monkeypatch.setattr(sys, "prefix", prefix)
    assert install("html") == command

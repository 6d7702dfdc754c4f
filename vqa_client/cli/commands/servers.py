"""The commands that start or examine a server."""

from typing import Annotated

from cyclopts import Parameter

from vqa_client.settings.check import CheckSettings
from vqa_client.settings.serve import DemoSettings, ServerName, ServeSettings

_SERVE = ServeSettings()
_CHECK = CheckSettings()
_DEMO = DemoSettings()


def serve(server: ServerName, /, settings: Annotated[ServeSettings, Parameter(name="*")] = _SERVE) -> int:
    from vqa_client.cli import serve as serving

    return serving.serve(server, settings)


def check(settings: Annotated[CheckSettings, Parameter(name="*")] = _CHECK) -> int:
    from vqa_client.cli import check as checking

    return checking.check(settings)


def demo(settings: Annotated[DemoSettings, Parameter(name="*")] = _DEMO) -> int:
    from vqa_client.cli import demo as sample

    return sample.demo(settings)

"""`vqa-client --install-completion`: the script that completes commands and options in a shell."""

from dataclasses import make_dataclass
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args, get_type_hints

from cyclopts import App
from cyclopts import Parameter as CommandParameter
from cyclopts.completion.install import create_install_completion_command

from vqa_client.cli.app import app
from vqa_client.cli.commands import ASKING, BatchStep, default_settings, set_signature
from vqa_client.settings.declared import ChoicePageSettings
from vqa_client.settings.score import ScoreSettings, answers_and_data
from vqa_client.tasks.listing import declared


def install(
    *,
    shell: Annotated[
        Literal["zsh", "bash", "fish", "powershell"] | None,
        CommandParameter(help="Shell type for completion. If not specified, attempts to auto-detect current shell."),
    ] = None,
    output: Annotated[
        Path | None,
        CommandParameter(
            name=["-o", "--output"],
            help="Output path for the completion script. If not specified, uses shell-specific default.",
        ),
    ] = None,
) -> None:
    """Write the script; the app can do nothing else afterwards."""
    _give_options()
    create_install_completion_command(app.install_completion, add_to_startup=False)(shell=shell, output=output)


def _give_options() -> None:
    """Give the commands that read their own options those of all benchmarks."""
    hints = get_type_hints(ScoreSettings, include_extras=True)
    file_options = [(name, hints[name], None) for name in ("annotations", "metrics")]
    any_score = make_dataclass(
        "AnyScore", file_options, bases=(answers_and_data(ChoicePageSettings),), namespace={"__module__": __name__}
    )
    names: Any = Literal[tuple(declared())]
    asking = (app["run"], app["selftest"], app["robustness"]["run"])
    for command, kind in (*((subcommand, ChoicePageSettings) for subcommand in asking), (app["score"], any_score)):
        assert command.default_command is not None
        taken = Signature.from_callable(command.default_command, eval_str=True).parameters.values()
        parameters = [
            parameter.replace(annotation=names) if parameter.name in ("name", "task") else parameter
            for parameter in taken
            if parameter.name != "options"
        ]
        flat: Any = Annotated[cast(Any, kind), CommandParameter(name="*")]
        settings = Parameter("settings", Parameter.KEYWORD_ONLY, annotation=flat, default=default_settings(kind))
        command.default_command = set_signature(lambda *_, **__: None, Signature([*parameters, settings]))
    for step in get_args(BatchStep):
        with_commands = App(name=step)
        for name in ASKING:
            with_commands.command(app[name])
        app["batch"].command(with_commands)

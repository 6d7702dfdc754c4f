"""`vqa-client serve`: run a model's server in the foreground, until either of them ends."""

import asyncio
import shlex
import signal
import time
from collections.abc import Callable

from vqa_client.cli.signals import signals_caught
from vqa_client.cli.streams import EXIT_OK, emit, safe, say
from vqa_client.cpus import usable_cpus
from vqa_client.errors import ServerUnusable, UsageError
from vqa_client.model_config import ModelSettings, load_model
from vqa_client.reports.names import duration
from vqa_client.servers import by_config, guard, local, reader
from vqa_client.servers.process import Launch, Server
from vqa_client.servers.serving import check_port, most_images
from vqa_client.settings.serve import ServerName, ServeSettings

POLL_S = 0.2
_LAUNCHES = {"vllm": by_config.vllm, "mlx": by_config.mlx}


def serve(server: ServerName, /, settings: ServeSettings) -> int:
    """Start the server, print its address, and wait until it ends or a signal stops both.

    The exit code is 0 for a dry run, 128 plus its number for a signal. Raises ServerUnusable if the server ends.
    """
    launch = _OWN[server](settings) if server in _OWN else _launch_model(server, settings)
    if settings.dry_run:
        emit(_command_text(launch) + "\n")
        return EXIT_OK
    check_port(settings.host, settings.port)
    for line in launch.notes:
        say(line)
    say(_command_text(launch))
    return asyncio.run(_until_signalled(launch, settings.start_timeout))


def _launch_model(name: ServerName, settings: ServeSettings) -> Launch:
    if settings.config is None:
        raise UsageError(f"serve {name} needs --config", hint="the config of the model, as the run will get it")
    model: ModelSettings = load_model(settings.config)
    images = most_images(settings.images) if settings.images else None
    return _LAUNCHES[name](
        model, host=settings.host, port=settings.port, images=images, dry_run=settings.dry_run, note=_print_line
    )


def _launch_reader(settings: ServeSettings) -> Launch:
    return reader.launch(host=settings.host, port=settings.port, workers=usable_cpus(), alone=settings.dry_run)


def _launch_local(settings: ServeSettings) -> Launch:
    return local.launch(host=settings.host, port=settings.port, dry_run=settings.dry_run, note=_print_line)


_OWN = {"reader": _launch_reader, "local": _launch_local}
"""Servers of this package, which need no config."""


def _print_line(text: str) -> None:
    say(safe(text))


def _command_text(launch: Launch) -> str:
    words = [f"{name}={shlex.quote(value)}" for name, value in launch.env.items()]
    return " ".join([*words, shlex.join(launch.command)])


async def _until_signalled(launch: Launch, start_timeout_s: float) -> int:
    """Wait; a first signal stops the server in order, a second one kills it."""
    servers: list[Server] = []
    serving_task = asyncio.ensure_future(_serve_until_stopped(launch, start_timeout_s, servers.append))

    def stop() -> None:
        say(f"stopping {launch.name}, for at most {launch.grace_s:g} s (Ctrl-C again: stop now)")
        serving_task.cancel()

    def kill() -> None:
        for server in servers:
            guard.signal_group(server.pid, signal.SIGKILL)

    with signals_caught(stop, kill) as caught:
        try:
            await serving_task
        except asyncio.CancelledError:
            if not caught:
                raise
    return 128 + caught[0]


async def _serve_until_stopped(launch: Launch, start_timeout_s: float, started: Callable[[Server], None]) -> None:
    begun_s = time.monotonic()
    async with launch.running(start_timeout_s) as server:
        started(server)
        say(f"{launch.name} is ready after {duration(time.monotonic() - begun_s)}, as process {server.pid}; at:")
        emit(f"{server.base_url}\n")
        while (how := server.ended()) is None:
            await asyncio.sleep(POLL_S)
    raise ServerUnusable(f"{launch.name} {how}", hint="see what it printed last; an interrupted run resumes")

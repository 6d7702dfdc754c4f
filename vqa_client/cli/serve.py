"""`vqa-client serve`: run a model's server in the foreground, until either of them ends."""

import asyncio
import shlex
import signal
import time
from collections.abc import Callable

from vqa_client.cli.signals import signals_caught
from vqa_client.cli.streams import EXIT_OK, emit, say
from vqa_client.cpus import usable_cpus
from vqa_client.errors import ServerUnusable, UsageError
from vqa_client.model_config import load_model
from vqa_client.reports.names import duration
from vqa_client.servers import by_config, guard, local, reader
from vqa_client.servers.process import Launch, Server
from vqa_client.servers.serving import check_port, most_images
from vqa_client.settings.serve import ServerName, ServeSettings

POLL_S = 0.2


def serve(server: ServerName, /, settings: ServeSettings) -> int:
    """Start the server, print its address, and wait until it ends or a signal stops both.

    The exit code is 0 for a dry run, 128 plus its number for a signal. Raises ServerUnusable if the server ends.
    """
    launch = _launch(server, settings)
    if settings.dry_run:
        emit(_command_text(launch) + "\n")
        return EXIT_OK
    check_port(settings.host, settings.port)
    for line in launch.notes:
        say(line)
    say(_command_text(launch))
    return asyncio.run(_until_signalled(launch, settings.start_timeout))


def _launch(name: ServerName, settings: ServeSettings) -> Launch:
    host, port, dry_run = settings.host, settings.port, settings.dry_run
    if name == "reader":
        return reader.launch(host=host, port=port, workers=usable_cpus(), alone=dry_run)
    if name == "local":
        return local.launch(host=host, port=port, dry_run=dry_run, note=say)
    if settings.config is None:
        raise UsageError(f"serve {name} needs --config", hint="the config of the model, as the run will get it")
    images = most_images(settings.images) if settings.images else None
    launch = by_config.vllm if name == "vllm" else by_config.mlx
    return launch(load_model(settings.config), host=host, port=port, images=images, dry_run=dry_run, note=say)


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

"""An asker whose every request asks the server to choose among labels, or to weigh them."""

from collections.abc import Callable

from msgspec.structs import replace

from vqa_client.client.chat import ChatClient
from vqa_client.client.choosing.forms import ChoiceForm, common_form
from vqa_client.types import Choosing, Completion, Request


class ChoosingClient:
    """Asks through a client with the fields of the form that its servers honour."""

    def __init__(self, chat: ChatClient, form: ChoiceForm, choosing: Choosing) -> None:
        self.form = form
        self._chat = chat
        self._one_token = choosing.mode == "logprob"

    async def complete(self, request: Request) -> Completion:
        """As the client itself; a reply of the one token that was asked for is whole, and ends at no limit."""
        completion = await self._chat.complete(replace(request, parameters={**request.parameters, **self.form.fields}))
        cut = completion.finish_reason == "length"
        return replace(completion, finish_reason=None) if cut and self._one_token else completion


async def choosing_client(chat: ChatClient, choosing: Choosing, note: Callable[[str], None]) -> ChoosingClient:
    """Find out the servers' form first; raises ServerUnusable where they have none, or none in common."""
    routes = [route for route in chat.routes.all if not route.lost]
    form = await common_form([route.endpoint for route in routes], chat.model, choosing)
    note(f"--choice_mode {choosing.mode}: asked by {form.name}")
    return ChoosingClient(chat, form, choosing)

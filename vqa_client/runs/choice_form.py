"""Who asks a plan's questions: the session's client, or one that has each request choose among labels."""

import asyncio

from vqa_client.client.session import Session
from vqa_client.runner import Asks
from vqa_client.runs.plan import Note, Plan
from vqa_client.runs.run_file import RunFile
from vqa_client.runs.waiting import unless

FORM = "choice_form"


async def asker_of(plan: Plan, session: Session, file: RunFile, note: Note, stop: asyncio.Event) -> Asks:
    """The asker of this plan; the form by which servers are asked to choose goes into the run file.

    Raises ServerUnusable where they take none; an interruption is not kept waiting, and nothing is asked after it.
    """
    choosing = plan.task.choosing
    if choosing is None:
        return session.chat
    from vqa_client.client.constrained.forms import choosing_client  # draws on the checks, and most runs do without

    chat = session.choosing.get(choosing) or await unless(stop, choosing_client(session.chat, choosing, note))
    if chat is None:
        return session.chat
    session.choosing[choosing] = chat  # a command's plans share their servers
    before = file.described.get(FORM, chat.form.name)
    if before != chat.form.name:
        note(f"{plan.title}: earlier questions were asked by {before}, those now by {chat.form.name}")
    file.described[FORM] = chat.form.name
    return chat

"""Tells how long an evaluator's event loop went without turning; imported by Python at the start of its process.

Every asyncio loop gets a timer that asks for short waits and keeps the longest overrun, as clients/loop_stall.py does
in the scripts; the file that VQA_CLIENT_LOOP_STALL_FILE names is written when a loop ends. uvloop is not seen.
"""

import asyncio.base_events
import json
import os

PATH = os.environ.get("VQA_CLIENT_LOOP_STALL_FILE")
PERIOD_S = 0.01
worst_s = 0.0
run_forever = asyncio.base_events.BaseEventLoop.run_forever


def watched(loop):
    """Run the loop as ever, with the timer in it."""
    timer = due_s = None

    def note():
        global worst_s
        worst_s = max(worst_s, loop.time() - due_s)

    def turn():
        nonlocal timer, due_s
        if due_s is not None:
            note()
        due_s = loop.time() + PERIOD_S
        timer = loop.call_at(due_s, turn)

    turn()
    try:
        run_forever(loop)
    finally:
        timer.cancel()
        note()
        with open(PATH, "w") as file:
            json.dump({"loop_stall_max_s": worst_s}, file)


if PATH:
    asyncio.base_events.BaseEventLoop.run_forever = watched

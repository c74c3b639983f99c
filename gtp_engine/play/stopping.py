"""Ctrl-C while Nobi thinks: the thinking ends, and the program goes on."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.protocol import Command
from nobi_machine.interruption import interruptible


@contextmanager
def stopped_by_interrupt(name: str) -> Iterator[Call]:
    """Give the body the call of a GTP command, which SIGINT stops. A second SIGINT, a second later, ends the program,
    and so does SIGTERM at once."""
    call, terminate = Call(Command(None, name)), signal.getsignal(signal.SIGTERM)
    with interruptible() as call.stop:
        signal.signal(signal.SIGTERM, terminate)
        yield call

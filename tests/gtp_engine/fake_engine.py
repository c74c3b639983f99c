"""A whole engine process around FakePlayer, for tests of the process itself.

`python -m tests.gtp_engine.fake_engine {json}`.

JSON keys: `settings` (EngineSettings fields), `player` (FakePlayer arguments), `load` (seconds that loading takes),
`fails` (a message with which it fails), `prints` (write to stdout while loading), `signalled` (a signal that comes to
the loading thread), `tells` (write a line SEARCHING to stderr as each search begins), `grace` (LOADING_GRACE), `reply`
(GRACE: seconds that what runs may still take to reply at the end).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.errors import UserError
from gtp_engine.gtp import loop

if TYPE_CHECKING:
    from search.request import SearchRequest
    from search.result import SearchResult

SEARCHING = "searching"


def main() -> int:
    options: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}

    def make_player(_log: object) -> Any:
        time.sleep(options.get("load", 0))
        if "fails" in options:
            raise UserError(options["fails"])
        if options.get("prints"):
            print("from Python")
            os.write(1, b"from C\n")
        if "signalled" in options:
            signal.pthread_kill(threading.get_ident(), options["signalled"])
        from tests.gtp_engine.fakes import FakePlayer

        player = FakePlayer(**options.get("player", {}))
        search = player.search

        def tell_and_search(request: SearchRequest) -> SearchResult:
            print(SEARCHING, file=sys.stderr, flush=True)
            return search(request)

        if options.get("tells"):
            player.search = tell_and_search  # type: ignore[method-assign]
        return player

    loop.LOADING_GRACE = options.get("grace", loop.LOADING_GRACE)
    loop.GRACE = options.get("reply", loop.GRACE)
    return loop.run_gtp(EngineSettings(**options.get("settings", {})), make_player)


if __name__ == "__main__":
    sys.exit(main())

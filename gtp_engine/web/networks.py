"""The networks that pages can choose from: those at hand, and those that a click fetches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from gtp_engine.configuration.configuration import Configuration
from gtp_engine.errors import Refused, explain
from gtp_engine.networks import with_network
from nets.at_hand import PUBLISHED, at_hand

_fetching = threading.Lock()


def told_networks(configuration: Configuration) -> dict[str, Any]:
    """Return what pages are told: the network that plays, and all that they can choose."""
    present = at_hand()
    net = configuration.net
    playing = next((each.name for each in present if each.path == net), "none" if net is None else net.name)
    names = {each.name for each in present if each.is_whole}
    said = {each.name: each.what for each in PUBLISHED}
    networks = [
        {"name": each.name, "description": said.get(each.name, each.place), "at_hand": True}
        for each in present
        if each.name in names and not (each.header is not None and each.header.imitates_people)
    ]
    networks += [
        {"name": each.name, "description": f"{each.what}, {each.size / 1e6:.0f} MB to fetch", "at_hand": False}
        for each in PUBLISHED
        if each.name not in names and "human" not in each.name
    ]
    return {"network": playing, "networks": networks}


def fetch_network(
    name: str,
    configuration: Configuration,
    say: Callable[[str, str], None],
    progress: Callable[[int, int], None],
    use: Callable[[Configuration], None],
) -> None:
    """Have `use` called, in another thread, with a configuration of this network, which is fetched first where it is
    not at hand. `say` receives messages and their kind, `progress` the bytes that have come and all. Raises Refused for
    an unknown network, and while another one is fetched."""
    known = {each.name for each in at_hand()} | {each.name for each in PUBLISHED}
    if name not in known:
        raise Refused(f"{name[:60]!r} is none of the networks that can be chosen")
    if not _fetching.acquire(blocking=False):
        raise Refused("another network is being fetched")

    def fetch() -> None:
        from gtp_engine.tools.networks import fetched

        try:
            network = next((each for each in at_hand() if each.name == name and each.is_whole), None)
            if network is None:
                fetched(name, progress=progress)
                network = next(each for each in at_hand() if each.name == name)
            use(with_network(configuration, network))
            say(f"{name} plays now", "info")
        except Exception as error:
            say(explain(error), "error")
        finally:
            _fetching.release()

    threading.Thread(target=fetch, name="fetching", daemon=True).start()

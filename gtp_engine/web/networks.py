"""The networks that pages can choose from, those at hand and those that a click fetches, and the levels they make."""

from __future__ import annotations

import threading
from typing import Any

from gtp_engine.networks import with_network
from gtp_engine.web import requests
from gtp_engine.web.engine import Engine
from gtp_engine.web.levels import imitates_people, network_of_people, told_levels
from gtp_engine.web.refusals import Refusal, said, said_of
from gtp_engine.web.shared import SharedGame
from nets.at_hand import PUBLISHED, at_hand


class Networks:
    """Tells pages of networks, and fetches one at a time."""

    def __init__(self, shared: SharedGame, engine: Engine) -> None:
        self._shared, self._engine = shared, engine
        self._fetching = threading.Lock()

    def told(self) -> dict[str, Any]:
        """Return what pages are told: the network that plays, all that they can choose, the levels, and the network
        that would add people's ranks to these; null where it is at hand."""
        present, net = at_hand(), self._engine.configuration.net
        playing = next((each.name for each in present if each.path == net), "none" if net is None else net.name)
        names = {each.name for each in present if each.is_whole}
        networks = [
            {"name": each.name, "place": each.place, "size": 0}
            for each in present
            if each.name in names and not imitates_people(each)
        ]
        to_fetch = [{"name": each.name, "place": "", "size": each.size} for each in PUBLISHED if each.name not in names]
        people = next((each for each in to_fetch if "human" in str(each["name"])), None)
        return {
            "network": playing,
            "networks": networks + [each for each in to_fetch if each is not people],
            "levels": told_levels(),
            "people": None if network_of_people() else people,
        }

    def choose(self, network: requests.Network) -> None:
        """Have a network play, in another thread; it is fetched first where it is not at hand. One that imitates people
        makes levels instead. Raises Refused for an unknown network, and while another one is fetched."""
        name = network.name
        if name not in {each.name for each in at_hand()} | {each.name for each in PUBLISHED}:
            raise Refusal("no_such_network", name=name[:60])
        if not self._fetching.acquire(blocking=False):
            raise Refusal("another_network_is_fetched")
        threading.Thread(target=self._fetch, args=(name,), name="fetching", daemon=True).start()

    def _fetch(self, name: str) -> None:
        from gtp_engine.tools.networks import fetched

        def progress(done: int, total: int) -> None:
            self._shared.publish("progress", {"done": done, "total": total})

        key = "network_plays"
        try:
            network = next((each for each in at_hand() if each.name == name and each.is_whole), None)
            if network is None:
                fetched(name, progress=progress)
                network = next(each for each in at_hand() if each.name == name)
            if imitates_people(network):
                key = "ranks_are_there"
            else:
                configuration = with_network(self._engine.configuration, network)
                self._engine.ask(lambda _: self._engine.use(configuration)).result()
            with self._shared.lock:
                self._shared.publish("networks", self.told())
                self._shared.say(said(key, name=name), kind="info")
        except Exception as error:
            self._shared.say(said_of(error))
        finally:
            self._fetching.release()

"""Where the points went: what a bad move gave away, as areas of the board.

Who will own what after the best move is compared with who will own what after the played one. Neighbouring points that
one of the two loses are an area, named by where it lies and by the stones that change hands. Only what a quick search
and one of four times its visits both say is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from go_rules.agreement import chains
from go_rules.game import Game
from go_rules.points import BLACK, PASS, board_points, to_vertex
from search.result import SearchResult

LEAST_LOSS = 2.0
"""Points that a move has to lose at least: what is less is noise."""
CONFIRMED_BY = 4
"""How many times the visits of the first search the confirming one has."""
SEARCHES_OF_A_CAUSE = 2 + 3 * CONFIRMED_BY + 1
"""How many times the visits of the first search are needed in all, at most."""
CHANGED = 0.3
"""Ownership, of -1..1, by which a point has to change to be part of an area."""
LEAST_AREA, LEAST_SHARE = 1.0, 0.2
"""Points that an area has to change by at least, and as a share of the largest one."""
MOST_AREAS = 3
LONGEST_LINE = 12
"""Moves of the refutation."""
URGENT = 10.0
"""Points that a pass costs where a place is urgent."""

Analyse = Callable[[Game, int], SearchResult]
"""Searches a game's present position with so many visits, ownership included."""


@dataclass(frozen=True)
class Chain:
    """Stones that change hands: after one of the two moves they live, after the other they are dead."""

    colour: int
    count: int
    first: int


@dataclass(frozen=True)
class Area:
    """Neighbouring points that belong to the mover after one move and not after the other."""

    points: frozenset[int]
    change: float
    """Points that the mover has more after the played move than after the best one."""
    around: int
    """Where it changes most."""
    region: str
    """A key of REGIONS."""
    chains: tuple[Chain, ...]


@dataclass(frozen=True)
class Cause:
    """Why a move was bad."""

    colour: int
    point: int
    best: int | None
    """None where it is not to be said."""
    loss: float
    """Points that it lost, by the confirming search."""
    areas: tuple[Area, ...]
    """Those that count, the largest first."""
    refutation: tuple[int, ...]
    """How the opponent goes on, in turns."""
    pass_cost: float
    """Points that a pass would have lost against the best move."""

    def text(self, language: str, height: int) -> str:
        """Say it in a language of TEXTS. `height`: rows of the board."""
        return _said(self, language, height)

    def as_json(self, height: int) -> dict[str, Any]:
        """Return it for JSON, points as vertices. `height`: rows of the board."""
        return {
            "points_lost": self.loss,
            "pass_cost": self.pass_cost,
            "best": None if self.best is None else to_vertex(self.best, height),
            "refutation": [to_vertex(point, height) for point in self.refutation],
            "areas": [
                {
                    "region": area.region,
                    "change": area.change,
                    "points": sorted(to_vertex(point, height) for point in area.points),
                    "stones": [to_vertex(chain.first, height) for chain in area.chains],
                }
                for area in self.areas
            ],
            "text": self.text("en", height),
        }


def find_cause(game: Game, point: int, analyse: Analyse, visits: int) -> Cause | None:
    """Find out where the points of a move went.

    `game` is before the move, and its turn is the mover's. `visits` is what the first search of each position has. None
    where nothing can be claimed: the move is the best one, its loss is less than LEAST_LOSS, or more visits say
    otherwise. Raises what `analyse` raises.
    """
    best = analyse(game, visits * CONFIRMED_BY).moves[0].point
    if best == point:
        return None
    loss, changes = 0.0, list[dict[int, float]]()
    # Both times the same two moves are compared: against another best move, other areas would change.
    for more in (1, CONFIRMED_BY):
        better, played = (analyse(after_move(game, each), visits * more) for each in (best, point))
        least = max(LEAST_LOSS, loss / 2)
        loss = played.lead - better.lead  # of the opponent's, who is to move
        if loss < least:
            return None
        owned = [_owned(game, each) for each in (better, played)]
        changes.append({each: owned[1][each] - owned[0][each] for each in owned[0] if each not in (point, best)})
    areas = tuple(area for area in _areas(game, changes[1], *owned) if _confirms(changes[0], area))
    cost = 0.0 if best == PASS else analyse(after_move(game, PASS), visits).lead - better.lead
    line = played.moves[0].pv[:LONGEST_LINE] if played.moves else ()
    return Cause(game.to_play, point, best, loss, areas, line, cost)


def after_move(game: Game, point: int) -> Game:
    """Return a copy of a game in which the side to move has played a point."""
    after = game.copy()
    after.play(game.to_play, point)
    return after


def _owned(game: Game, after: SearchResult) -> dict[int, float]:
    """Who owns each point, + the mover's, by a search of the position after the move."""
    assert after.ownership is not None, "asked for"
    return dict(zip(board_points(game.width, game.height), (-after.ownership).tolist(), strict=True))


def _confirms(quick: dict[int, float], area: Area) -> bool:
    """Whether the quick searches saw at least half of an area's change, at its very points."""
    return sum(quick[point] for point in area.points) / area.change >= 0.5


def _areas(
    game: Game, change: dict[int, float], better: dict[int, float], played: dict[int, float]
) -> tuple[Area, ...]:
    """Group the points that change into areas, the largest first. Where either stone was put is not among them: each
    is its player's, which says nothing."""
    found = [_area(game, part, change, better, played) for part in _connected(game, change)]
    found.sort(key=lambda area: -abs(area.change))
    return tuple(
        area for area in found[:MOST_AREAS] if abs(area.change) >= max(LEAST_AREA, LEAST_SHARE * abs(found[0].change))
    )


def _connected(game: Game, change: dict[int, float]) -> Iterator[list[int]]:
    """The connected groups of points that change by CHANGED in the same direction. Points that touch at a corner are
    connected."""
    places = {point: divmod(index, game.width) for index, point in enumerate(board_points(game.width, game.height))}
    at = {place: point for point, place in places.items()}
    waiting = {point for point, value in change.items() if abs(value) >= CHANGED}
    while waiting:
        group = [waiting.pop()]
        for point in group:
            row, column = places[point]
            for down in (-1, 0, 1):
                for right in (-1, 0, 1):
                    near = at.get((row + down, column + right))
                    if near in waiting and change[near] * change[point] > 0:
                        waiting.remove(near)
                        group.append(near)
        yield group


def _area(
    game: Game, points: list[int], change: dict[int, float], better: dict[int, float], played: dict[int, float]
) -> Area:
    inside = frozenset(points)
    turned = tuple(
        Chain(int(game.position["board"][chain[0]]), len(chain), chain[0])
        for chain in chains(game)
        if inside.issuperset(chain)
        and sum(better[point] for point in chain) * sum(played[point] for point in chain) < 0
    )
    return Area(
        inside,
        sum(change[point] for point in points),
        max(points, key=lambda point: abs(change[point])),
        _region(game, points),
        tuple(sorted(turned, key=lambda chain: -chain.count)),
    )


def _region(game: Game, points: list[int]) -> str:
    """Which corner, which side, or the centre: where the middle of these points lies among the thirds of the board."""
    index = {point: place for place, point in enumerate(board_points(game.width, game.height))}
    row = sum(index[point] // game.width for point in points) / len(points) / (game.height - 1)
    column = sum(index[point] % game.width for point in points) / len(points) / (game.width - 1)
    down, right = (0 if part < 1 / 3 else 1 if part <= 2 / 3 else 2 for part in (row, column))
    return REGIONS[3 * down + right]


# --- In words ---------------------------------------------------------------------------------------------------------


REGIONS = ("upper left", "upper side", "upper right", "left side", "centre", "right side", "lower left", "lower side",
           "lower right")  # fmt: skip


@dataclass(frozen=True)
class Texts:
    """The sentences of one language. Numbers are whole: areas do not sum up to the loss, and decimals would say that
    they do."""

    regions: tuple[str, ...]
    black: str
    white: str
    loss: str
    area: str
    chain: str
    areas: str
    urgent: str
    better: str
    refutation: str
    comma: str


TEXTS = {
    "en": Texts(
        ("the upper left", "the upper side", "the upper right", "the left side", "the centre", "the right side",
         "the lower left", "the lower side", "the lower right"),
        "black", "white", "{move} lost about {n} points", "{region} {change} around {point}",
        " ({n} {colour} at {point})", ": {areas}", "; {best} was urgent", "; {best} was better",
        ". The answer: {line}", ", ",
    ),
    "zh": Texts(
        ("左上角", "上边", "右上角", "左边", "中央", "右边", "左下角", "下边", "右下角"),
        "黑", "白", "{move} 约损 {n} 目", "{region}{change}（{point} 一带）", "（{point} 的 {n} 颗{colour}子）",
        "：{areas}", "；{best} 是急所", "；{best} 更好", "。对方应手：{line}", "，",
    ),
    "ja": Texts(
        ("左上", "上辺", "右上", "左辺", "中央", "右辺", "左下", "下辺", "右下"),
        "黒", "白", "{move} は約 {n} 目の損", "{region}で{change}（{point} 付近）", "（{point} の{colour} {n} 子）",
        "：{areas}", "。{best} が急所", "。{best} が優る", "。相手の応手：{line}", "、",
    ),
    "ko": Texts(
        ("좌상귀", "상변", "우상귀", "좌변", "중앙", "우변", "좌하귀", "하변", "우하귀"),
        "흑", "백", "{move}: 약 {n}집 손해", "{region} {change}({point} 부근)", "({point}의 {colour} {n}점)",
        ": {areas}", "; {best} 자리가 급했습니다", "; {best} 쪽이 낫습니다", ". 상대의 응수: {line}", ", ",
    ),
}  # fmt: skip


def _said(cause: Cause, language: str, height: int) -> str:
    texts = TEXTS[language]

    def vertex(point: int) -> str:
        return to_vertex(point, height)

    def stones(area: Area) -> str:
        return "".join(
            texts.chain.format(
                n=chain.count, colour=texts.black if chain.colour == BLACK else texts.white, point=vertex(chain.first)
            )
            for chain in area.chains[:1]
        )

    areas = texts.comma.join(
        texts.area.format(
            region=texts.regions[REGIONS.index(area.region)],
            change=f"{area.change:+.0f}".replace("-", "−"),
            point=vertex(area.around),
        )
        + stones(area)
        for area in cause.areas
    )
    said = texts.loss.format(move=vertex(cause.point), n=round(cause.loss))
    if areas:
        said += texts.areas.format(areas=areas)
    if cause.best is not None:
        best = texts.urgent if cause.pass_cost >= URGENT else texts.better
        said += best.format(best=vertex(cause.best))
    if cause.refutation:
        said += texts.refutation.format(line=" ".join(vertex(point) for point in cause.refutation[:5]))
    return said + ("." if language in ("en", "ko") else "。")

"""Setups as KataGo resolves them, and hashes of positions."""

from __future__ import annotations

import random

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, board_points, from_vertex
from go_rules.rule_names import read_rules
from gtp_engine.json_engine.records import (
    IllegalMoveError,
    QueriedGame,
    Replayer,
    move_codes,
    position_hashes,
    resolved,
)

LETTERS = {"B": BLACK, "W": WHITE}


def stones(text: str, size: int = 9) -> list[tuple[int, int]]:
    return [(LETTERS[word[0]], from_vertex(word[1:], size, size)) for word in text.split()]


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("BA1 WA1", "WA1"),
        ("BA1 WA2 WB1", "WA2 WB1"),
        ("WA2 WB1 BA1", "WA2 WB1"),
        ("WA2 WB1 BA3 BB2 BC1 BA1", "BA3 BB2 BC1 BA1 WB1"),
        ("BC3 BD3 WC3", "BD3 WC3"),
    ],
)
def test_stones_that_replace_and_capture(given: str, left: str) -> None:
    expected = set(stones(left))
    if given.endswith("BC1 BA1"):
        expected = set(stones("BA3 BB2 BC1 BA1"))  # both white stones lose their last liberty
    assert set(resolved(stones(given), 9, 9)) == expected


def position(text: str, to_play: int = BLACK, width: int = 9, height: int = 9) -> Game:
    game = Game(width, height)
    game.set_position([(LETTERS[word[0]], from_vertex(word[1:], width, height)) for word in text.split()], to_play)
    return game


def test_positions_have_names_that_their_symmetries_share() -> None:
    """The last but one differs by the side to move, the last by the board."""
    same = [
        position(f"B{first} W{second}") for first, second in (("C3", "D3"), ("C3", "C4"), ("G7", "G6"), ("G3", "F3"))
    ]
    others = [position("BC3 WE3"), position("BC3 WD3", WHITE), position("BC3 WD3", width=10)]
    names = [position_hashes(game) for game in same]
    assert len({symmetric for _, symmetric in names}) == 1
    assert len({this for this, _ in names}) == len(same)
    assert not {position_hashes(game)[1] for game in others} & {names[0][1]}
    assert all(len(name) == 32 and int(name, 16) for name in names[0])
    assert position_hashes(position("BC3 WD3")) == names[0]
    upright, lying = (position_hashes(position("BC3", width=w, height=h)) for w, h in ((9, 5), (5, 9)))
    assert upright[1] == lying[1]
    assert upright[0] != lying[0]


def test_a_forbidden_ko_is_a_part_of_the_name() -> None:
    taken = Replayer().game(QueriedGame(9, 9, read_rules("chinese"), 7.0, (), BLACK, move_codes(stones(KO)[:-1])))
    allowed = taken.copy()
    allowed.set_position(
        [(int(taken.position["board"][p]), p) for p in board_points(9, 9) if taken.position["board"][p]], BLACK
    )
    assert position_hashes(taken)[1] != position_hashes(allowed)[1]


KO = "BC5 WD5 BB4 WE4 BC3 WD3 BD4 WC4 BD4"
"""Black takes the ko back at once."""
SUICIDE = "BA3 WA2 BB2 WB1 BC1 WA1"
"""White's two chains of the corner become one without a liberty."""


@pytest.mark.parametrize("rules", ["chinese", "japanese", "tromp-taylor", "new-zealand"])
@pytest.mark.parametrize("moves", [KO, SUICIDE])
def test_what_was_played_is_taken_whatever_the_rules_say(rules: str, moves: str) -> None:
    record = QueriedGame(9, 9, read_rules(rules), 7.0, (), BLACK, move_codes(stones(moves)))
    replayer = Replayer()
    assert len(replayer.game(record).moves) == len(moves.split())
    assert len(replayer.game(record, 3).moves) == 3


@pytest.mark.parametrize("moves", ["BA1 WA1", "BA2 WC3 BA1 WA1"])
def test_what_cannot_have_been_played(moves: str) -> None:
    codes = move_codes(stones(moves))
    with pytest.raises(IllegalMoveError, match=f"^Illegal move {len(codes) - 1}: A1$"):
        Replayer().game(QueriedGame(9, 9, read_rules("chinese"), 7.0, (), BLACK, codes))


def tried(replayer: Replayer, record: QueriedGame, turn: int | None) -> Game | str:
    """The game, or what is said of its illegal move."""
    try:
        return replayer.game(record, turn)
    except IllegalMoveError as error:
        return str(error)


def test_a_game_that_goes_on_is_the_one_that_is_begun_anew() -> None:
    """Records that share setups and beginnings, in any order, refused ones among them."""
    draw = random.Random(7)
    lines = ["BE5 WC3 BG7 WC7", "BE5 WC3 BG7 WG3 BE5", "BE5 WC3", "", KO, SUICIDE, "BE5 WE5", "Bpass Wpass BC3"]
    setups = [((), BLACK), ((), WHITE), (tuple(stones("BD4 WE4")), WHITE), (tuple(stones("BA1 WA1")), BLACK)]
    kept = Replayer()
    for _ in range(300):
        placed, first = draw.choice(setups)
        rules, komi = read_rules(draw.choice(("chinese", "japanese"))), draw.choice((0.0, 7.5))
        record = QueriedGame(9, 9, rules, komi, placed, first, move_codes(stones(draw.choice(lines))))
        turn = draw.choice((None, 0, 1, 2))
        fresh, game = tried(Replayer(), record, turn), tried(kept, record, turn)
        if isinstance(fresh, str) or isinstance(game, str):
            assert fresh == game
            continue
        assert game.identity() == fresh.identity()
        assert game.moves == fresh.moves
        assert game.position.tobytes() == fresh.position.tobytes()
        assert game.record.item() == fresh.record.item()
        assert game.legal_moves(game.to_play) == fresh.legal_moves(fresh.to_play)

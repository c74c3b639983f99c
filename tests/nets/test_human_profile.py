"""Human profiles: names, and the numbers against those that KataGo 1.17.2 computed."""

from __future__ import annotations

import math

import pytest

from nets.human_profile import META_FEATURES, metadata_row, parse_profile

KATAGO = [
    ("rank_9d", True, 361, 7.257279, -0.606939),
    ("rank_9d", False, 81, 6.510064, -0.065875),
    ("rank_20k", True, 361, 63.257279, -2.267430),
    ("preaz_5k", False, 361, 42.196460, -3.396298),
    ("preaz_5k", True, 81, 41.449245, -2.855235),
    ("rank_1d_3k", True, 361, 26.257279, -1.327344),
    ("rank_1d_3k", False, 361, 26.257279, -1.831596),
    ("preaz_20k_9d", True, 81, 43.449245, -0.902468),
    ("preaz_20k_9d", False, 81, 43.449245, -0.700396),
    ("proyear_1800", True, 361, 2.165466, -2.250068),
    ("proyear_1990", False, 361, 20.328508, -3.101721),
    ("proyear_2020", True, 81, 8.416296, -4.576013),
    ("proyear_2023", False, 361, 14.916791, -7.641795),
]
"""Name, whether black is to move, points of the board, sum of the row, sum of row[i] * sin(0.7 i + 0.3)."""


@pytest.mark.parametrize(("name", "is_black", "points", "plain", "weighted"), KATAGO)
def test_rows(name: str, is_black: bool, points: int, plain: float, weighted: float) -> None:
    row = metadata_row(parse_profile(name), is_black, points)
    assert len(row) == META_FEATURES
    assert sum(row) == pytest.approx(plain, abs=2e-5)
    assert sum(value * math.sin(0.7 * i + 0.3) for i, value in enumerate(row)) == pytest.approx(weighted, abs=2e-5)


def test_names() -> None:
    assert parse_profile(" RANK_5K ") == parse_profile("rank_5k") == parse_profile("rank_5k")
    assert parse_profile("rank_5k").black == parse_profile("rank_5k").white == 14
    both = parse_profile("preaz_9d_20k")
    assert (both.name, both.black, both.white) == ("preaz_9d_20k", 1, 29)
    assert parse_profile("proyear_2020").source != parse_profile("proyear_2021").source


BAD_NAMES = """
    _ rank rank_ rank_21k rank_10d rank_0k rank_5 rank_5k_ rank_5k_3k_1k pro_1990 proyear_1799 proyear_2024 proyear_199
    proyear_+1990 proyear_１９９０ preaz5k
"""


@pytest.mark.parametrize("name", [*BAD_NAMES.split(), "", "rank_5k\n=", "x" * 1000])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="rank_20k to rank_9d") as caught:
        parse_profile(name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300

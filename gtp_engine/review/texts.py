"""The sentences about where the points went, in the languages of those who play Go."""

from __future__ import annotations

from dataclasses import dataclass

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

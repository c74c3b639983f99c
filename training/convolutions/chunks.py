"""Boards in chunks, by as many threads as PyTorch has."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import torch

Work = Callable[[int, int], None]
"""Does a chunk, given its first board and how many these are."""


def in_chunks(begin: Callable[[], Work], count: int, chunk: int) -> None:
    """Do `count` boards, `chunk` at once at most. Each thread asks `begin` once for what to do."""
    firsts = iter(range(0, count, chunk))

    def work(_number: int) -> None:
        run = begin()
        for first in firsts:
            run(first, min(chunk, count - first))

    threads = min(torch.get_num_threads(), -(-count // chunk))
    others = [_pool(torch.get_num_threads()).submit(work, number) for number in range(1, threads)]
    work(0)
    for other in others:
        other.result()


@lru_cache(maxsize=1)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "convolutions")

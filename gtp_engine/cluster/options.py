"""The option that has units of work done elsewhere. Dask is imported only where it is used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gtp_engine.errors import UserError
from nobi_machine.text import printable

if TYPE_CHECKING:
    from gtp_engine.cluster.client import Cluster

F = TypeVar("F", bound=Callable[..., Any])


def cluster_option(command: F) -> F:
    """Give a command the option `cluster`, whose value is checked at once, and taken by `opened_cluster`."""
    return click.option(
        "--cluster", metavar="ADDRESS", callback=lambda _context, _option, address: checked_address(address),
        help="Have the work done by a Dask cluster, whose workers are `nobi worker`: the address of its scheduler.",
    )(command)  # fmt: skip


def checked_address(address: str | None) -> str | None:
    """Return the address, if there is one. Raises UserError where Dask is not installed, or where no scheduler can have
    such an address."""
    if address is None:
        return None
    try:
        import distributed
    except ImportError:
        raise UserError('a cluster needs Dask: pip install "nobi[cluster]", or pipx inject nobi distributed') from None
    try:
        host, port = distributed.comm.get_address_host_port(address)
        if not host or not 0 < port < 1 << 16:
            raise ValueError("a host is missing" if not host else f"there is no port {port}")
    except ValueError as error:
        raise UserError(printable(f"'{address}' is no address like tcp://192.168.1.10:8786: {error}")) from None
    return address


@contextlib.contextmanager
def opened_cluster(address: str) -> Iterator[Cluster]:
    """Connect to a cluster for as long as the body runs, and say at its end who did how much. Raises UserError."""
    from gtp_engine.cluster.client import Cluster

    cluster = Cluster(address)
    try:
        yield cluster
    finally:
        cluster.close()

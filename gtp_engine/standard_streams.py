"""Stdin, stdout and stderr: of a process that was started without some of them (`nobi gtp <&-`), and of one whose
terminal cannot show all that we write."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys

PLAIN = {"→": "->", "–": "-", "—": "-", "…": "...", "×": "x", "±": "+-", "½": ".5", "λ": "lambda"}
"""What stands for characters of our own texts where the terminal does not have them."""
_WRITE_OUT, _SEVEN_BITS = "nobi_write_out", "nobi_seven_bits"
"""An error handler and a codec, as Python calls them."""


def occupy_missing() -> None:
    """Put something in the place of a standard stream that is closed: whatever is opened next would become it.

    Reading from the stdin and writing to the stdout that are put there fail, so that whoever needs them says so.
    What is written to the stderr is lost.
    """
    for descriptor, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDWR)):
        try:
            os.fstat(descriptor)
        except OSError:
            _occupy(descriptor, flags)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - it is open as long as the process lives
    if sys.stderr is None:
        sys.stderr = open(2, "w", errors="replace", closefd=False)  # noqa: SIM115


def show_everything() -> None:
    """Have stdout and stderr take every text, whatever their encoding.

    What the terminal cannot show is written as in PLAIN, and else as Python writes it (`\\u738b`), so that no two names
    look alike. JSON is printed by `print_json`, and GTP goes by channels of its own, which know only UTF-8.

    On Windows both streams are UTF-8, where Python would take another encoding for files and pipes: what `nobi config`
    writes to a file is read as UTF-8, and what programs read from our stderr too.
    """
    codecs.register_error(_WRITE_OUT, _written_out)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=_encoding_for(stream), errors=_WRITE_OUT)


def _encoding_for(stream: io.TextIOWrapper) -> str:
    if sys.platform == "win32":
        return "utf-8"
    if codecs.lookup(stream.encoding).name != "ascii":
        return stream.encoding
    # Where a stream is ASCII by that name, click takes it for a mistake, and writes UTF-8 to it.
    codecs.register(_seven_bits)
    return _SEVEN_BITS


def _seven_bits(name: str) -> codecs.CodecInfo | None:
    """ASCII by another name."""
    if name != _SEVEN_BITS:
        return None
    coder = codecs.lookup("ascii")
    return codecs.CodecInfo(
        coder.encode,
        coder.decode,
        incrementalencoder=coder.incrementalencoder,
        incrementaldecoder=coder.incrementaldecoder,
        name=_SEVEN_BITS,
    )


def _written_out(error: UnicodeError) -> tuple[str, int]:
    """What stands for the characters that could not be encoded, and where to go on after them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(PLAIN.get(each) or each.encode("unicode_escape").decode("ascii") for each in found), error.end


def print_json(value: object) -> None:
    """Print on stdout, as one line of JSON in ASCII, what msgspec can encode: it is read alike in every encoding."""
    import json

    import msgspec

    print(json.dumps(msgspec.json.decode(msgspec.json.encode(value)), separators=(",", ":")), flush=True)


def _occupy(descriptor: int, flags: int) -> None:
    opened = os.open(os.devnull, flags)
    if opened != descriptor:
        os.dup2(opened, descriptor)
        os.close(opened)


def flush_stdout() -> None:
    """Flush stdout while a failure can still be reported. At exit Python would print a traceback of its own."""
    with contextlib.suppress(ValueError, AttributeError):
        sys.stdout.flush()


def silence_broken_stdout() -> OSError | None:
    """Send stdout nowhere if it cannot be written to: Python's flush at exit then does no harm. Return why it cannot,
    which has no file's name in it."""
    try:
        flush_stdout()
    except OSError as error:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error
    return None

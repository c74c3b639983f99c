"""Stdin, stdout and stderr.

A protocol gets a stdin and a stdout that are its alone: other code in the process reads nothing meant for us, and
writes to nobody who talks to us. A process may have been started without some of them (`nobi gtp <&-`), and a terminal
may be unable to show all that we write.

Some GUIs read stderr as if it were GTP, so no line of ours for the user may look like a part of it. Lizzie takes a line
with ` -> ` in it for a candidate move, and fails where it is none. Ogatak shows a line that has `exception` in it in a
window, and does nothing else. So a file keeps its name even if that word is a part of it: a window with the true name
is better than a name that no file has.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Iterator
from typing import TextIO, cast

from nobi_machine.text import printable

MOST_WAITING = 1 << 20
"""Characters that wait for a reader of stderr; where there are more, the oldest are lost."""
PATIENCE = 0.1
"""Seconds that whoever flushes stderr waits for its reader, once: then not until something is read again."""
LAST_PATIENCE = 0.5
"""Seconds that the end of the process waits for that."""


def guard_stdin() -> int:
    """Keep stdin for the caller: return a private descriptor of it, and let all other code find an empty one.

    Windows needs that. While a thread there waits for bytes from a pipe, whoever asks the system about the same pipe
    waits too, and libraries ask about stdin as they are loaded, numpy among them: the engine would not start before the
    next command arrived (https://github.com/numpy/numpy/issues/24290). Elsewhere it keeps other code and processes that
    we start from reading what is meant for us.
    """
    private = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return private


def guard_stdout() -> int:
    """Keep stdout for GTP: return a private descriptor of it, and send all other output of the process to stderr, where
    it is lost if nobody reads it."""
    sys.stdout.flush()
    private = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _lose_what_nobody_reads()
    sys.stdout = sys.stderr
    return private


@contextlib.contextmanager
def lossy_stderr() -> Iterator[None]:
    """Keep a full stderr that nobody reads from stopping the body, which may go on to `guard_stdout`.

    Whatever ends the body is still to be explained, and the process may end right after that: by then all is written,
    and stderr is what it was, which waits for its reader.
    """
    plain = sys.stderr
    _lose_what_nobody_reads()
    lossy = sys.stderr
    try:
        yield
    finally:
        if isinstance(lossy, LossyStream):
            lossy.drain()
        sys.stderr = plain


def _lose_what_nobody_reads() -> None:
    if not isinstance(sys.stderr, LossyStream):
        with contextlib.suppress(RuntimeError):  # no more threads: then stderr stays as it is
            sys.stderr = cast(TextIO, LossyStream(sys.stderr))


class LossyStream(io.TextIOBase):
    """Writes to another stream in a thread of its own. Who writes does not wait for a reader, and what no reader takes
    is lost: a program that started us and forgets to read our stderr must not stop us when the pipe is full.

    A reader that comes back is told how much it has missed."""

    def __init__(self, stream: TextIO) -> None:
        """Raises RuntimeError where the system gives no more threads."""
        self._stream = stream
        self._changed = threading.Condition()
        self._texts: deque[str] = deque()
        self._waiting = 0
        self._lost = 0
        """Texts that the reader has missed since it was last told."""
        self._is_stuck = False
        threading.Thread(target=self._work, name="stderr", daemon=True).start()

    @property
    def encoding(self) -> str:  # type: ignore[override] # it cannot be set
        return self._stream.encoding

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def write(self, text: str, /) -> int:
        """Have the text written as a whole, or lose it as a whole, once others have waited longer."""
        with self._changed:
            self._texts.append(text)
            self._waiting += len(text)
            while self._texts and self._waiting > MOST_WAITING:
                self._waiting -= len(self._texts.popleft())
                self._lost += 1
            self._changed.notify_all()
        return len(text)

    def flush(self) -> None:
        """Wait until all is written, for PATIENCE at most."""
        self._await_reader(PATIENCE)

    def close(self) -> None:
        """Wait until all is written, for LAST_PATIENCE at most. The other stream stays open."""
        self._await_reader(LAST_PATIENCE)

    def drain(self) -> None:
        """Wait until all is written, however long that takes."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting)

    def _await_reader(self, seconds: float) -> None:
        with self._changed:
            if not self._is_stuck:
                self._is_stuck = not self._changed.wait_for(lambda: not self._waiting, seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._texts)
                text = self._texts.popleft()
                missing, self._lost = f"nobi: {self._lost} lines lost here\n" if self._lost else "", 0
            with contextlib.suppress(OSError, ValueError):
                self._stream.write(missing + text)
                self._stream.flush()
            with self._changed:
                self._waiting -= len(text)
                self._is_stuck = False
                self._changed.notify_all()


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
            opened = os.open(os.devnull, flags)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
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
    return codecs.CodecInfo(*coder, coder.incrementalencoder, coder.incrementaldecoder, _SEVEN_BITS)


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


LONGEST_NOTE = 2000
"""Characters of the longest note."""
FILE_NAME = re.compile(r"[/\\]|\.\w")
"""What a word that names a file has in it."""


def note(text: str) -> None:
    """Write one line to stderr, in a form that no GUI takes for a reply, an analysis or an error.

    Control characters, which a text from a file or a peer may hold, are written out. A stderr that is closed is no
    error.
    """
    raw("nobi: " + " ".join(map(_harmless, printable(text, LONGEST_NOTE).split(" "))))


def raw(line: str) -> None:
    """Write one line to stderr exactly as it is, for a program that expects this form."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


def _harmless(word: str) -> str:
    if word in ("->", "→"):  # a terminal that has no arrow shows the second as the first
        return "to"
    return word if FILE_NAME.search(word) else word.replace("exception", "error").replace("Exception", "Error")

"""Several threads that are the first to decode a type of msgspec's, in a process of its own: msgspec can crash then."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import REPOSITORY

SCRIPT = """
import sys, threading, time

def dawdle(frame, event, argument):
    if event == "call" and frame.f_code.co_name == "get_class_annotations":
        if getattr(frame.f_locals["obj"], "__name__", "") not in OUTER:
            time.sleep(0.1)

threads = [threading.Thread(target=decode, args=(number,)) for number in range(4)]
threading.setprofile(dawdle)  # msgspec asks Python for the types that a type is made of
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def first_together(decode: str, *outer: str) -> tuple[int, bytes]:
    """Run Python code that defines a function `decode`, and call it with the numbers 0 to 3 in four threads at once.
    Return the exit code and stderr. What types are made of is told late, but for the `outer` ones, by their names: the
    others see these then, and that they are not whole."""
    done = subprocess.run(
        [sys.executable, "-c", f"OUTER = {outer}\n{decode}\n{SCRIPT}"], cwd=REPOSITORY, capture_output=True
    )
    return done.returncode, done.stderr

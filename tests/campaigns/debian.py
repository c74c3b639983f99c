"""Packages of Debian in a folder: how campaigns get emulators, and what emulated machines run. No root is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {} main\n"


@dataclass(frozen=True)
class Debian:
    """A release of Debian for one kind of processor, in a folder."""

    folder: Path
    suite: str
    architecture: str
    """By Debian's name for it: amd64, arm64."""

    @property
    def root(self) -> Path:
        """The folder of what is unpacked, as / is that of a machine."""
        return self.folder / "root"

    def unpack(self, *packages: str) -> None:
        """Download packages with all that they need, as if none were installed, and unpack them.

        Ends the program with one line if that cannot be done. What was unpacked before is kept.
        """
        done = self.folder / "unpacked"
        if done.exists() and done.read_text().split() == list(packages):
            return
        for program in ("apt-get", "dpkg"):
            if shutil.which(program) is None:
                raise SystemExit(f"{program} is missing: this campaign needs Debian, or a system made of it")
        print(f"downloading to {self.folder}", flush=True)
        for name in ("lists/partial", "archives/partial"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "sources.list").write_text(SOURCE.format(self.suite))
        (self.folder / "status").touch()
        (self.folder / "apt.conf").write_text(
            f'APT::Architecture "{self.architecture}"; APT::Architectures {{ "{self.architecture}"; }};\n'
            f'Dir::Etc::sourcelist "{self.folder}/sources.list"; Dir::Etc::sourceparts "-";\n'
            f'Dir::State "{self.folder}"; Dir::State::status "{self.folder}/status"; Dir::Cache "{self.folder}";\n'
        )
        environment = {**os.environ, "APT_CONFIG": str(self.folder / "apt.conf")}
        run(["apt-get", "-qq", "update"], "apt-get", environment)
        options = ["-qq", "-y", "--download-only", "--no-install-recommends"]
        run(["apt-get", *options, "install", *packages], "apt-get", environment)
        for package in sorted((self.folder / "archives").glob("*.deb")):
            run(["dpkg", "-x", str(package), str(self.root)], "dpkg")
        done.write_text(" ".join(packages))

    def command(self, program: str, *arguments: str | Path) -> list[str]:
        """Return the command that runs an unpacked program with its own libraries, on a processor of its kind."""
        loader = next((self.root / "usr/lib64").glob("ld-linux-*"))
        libraries = next((self.root / "usr/lib").glob("*-linux-gnu"))
        return [
            str(each) for each in (loader, "--library-path", libraries, self.root / "usr/bin" / program, *arguments)
        ]


def run(command: Sequence[str], name: str, environment: dict[str, str] | None = None) -> str:
    """Run a program that has to work, and return what it says. Ends this one with its last line if it does not."""
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment)
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise SystemExit(f"{name} ended with {done.returncode}: {' '.join(last)}")
    return done.stdout

"""Pack all that a leg on another machine needs into one folder: `make gpu-folder OUT=folder ARGS="..."`.

    OUT/code/        the packages of this project
    OUT/packages/    the packages that these need besides numpy, numba and PyTorch, for the Python of that machine
    OUT/gpu.toml     the configuration; the teacher, the records and the yardstick lie beside it
    OUT/start.bin.gz the network that the student begins with, if one is given, its matrices rounded to bf16
    OUT/leg.sh       trains a leg, and leaves its network and figures in pieces that can be carried back

What is only read in bf16 and what compresses better is made smaller: the teacher's matrices lose the bits that bf16 has
no place for, and records are compressed by LZMA, and left out from the end where there is no room for all.
"""

from __future__ import annotations

import gzip
import io
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from nets.katago.reader import MAX_BYTES, ModelFormatError, Reader, decompress, read_model
from nets.katago.writer import encode_model
from nets.native.convolutions.packing import as_bf16
from nobi_machine import launch
from training.commands import config_option, existing_network, read_settings, set_option
from training.config import TrainingConfig, describe
from training.errors import TrainingError
from training.files import START, START_CARD, card_beside, named_errors, read_arrays, write_whole
from training.positions.records import ARRAYS, load_records
from training.student.beginning import read_student
from training.yardstick import load_yardstick

MATRIX = 32768
"""Arrays of a network with so many numbers are matrices and convolutions."""


def rounded_network(path: Path) -> bytes:
    """Return the content of a KataGo network's file, with the numbers of all matrices rounded to bf16. Raises
    TrainingError."""
    try:
        with named_errors(path):
            return rounded_content(path.read_bytes()[:MAX_BYTES])
    except ModelFormatError as error:
        raise TrainingError(f"{path}: not a usable KataGo network: {error}") from None


def rounded_content(content: bytes) -> bytes:
    """Return the content of a file, given that of another, as `rounded_network` does. Raises ModelFormatError."""
    reader = _ArrayReader(decompress(content))
    read_model(reader)
    return gzip.compress(bytes(reader.rounded), mtime=0)


class _ArrayReader(Reader):
    """Rounds the matrices that are read from a model's content in a copy of it, `rounded`."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.rounded = bytearray(content)

    def _binary(self, what: str, start: int, count: int) -> NDArray[np.float32]:
        values = super()._binary(what, start, count)
        if count >= MATRIX:  # decimal numbers stay as they are
            self.rounded[start : start + 4 * count] = rounded(values).astype("<f4").tobytes()
        return values


def rounded(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round to the nearest numbers of bf16, half to even."""
    return (as_bf16(values).astype(np.uint32) << 16).view(np.float32)


PACKAGES = ("click", "msgspec", "platformdirs", "sgfmill", "tomlkit")
"""What `nobi train` imports besides numpy, numba and PyTorch."""
PLATFORMS = ("manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux_2_28_x86_64")
SPARE_BYTES = 1 << 18
"""Room that records leave free."""
LEG = """\
#!/bin/sh
# sh leg.sh [BUDGET] [FOLDER]: train a leg of 9 minutes, or of BUDGET; then leave its network and figures in FOLDER, in
# pieces under 16 MB. Carried back, `cat FOLDER/run.tar.* | tar -xf -` makes the folder run/ of them. A leg that was
# interrupted goes on with the same command; its network so far is left as run/unfinished.bin.gz.
cd "$(dirname "$0")" || exit
out=${2:+$(cd "$OLDPWD" && cd "$2" && pwd)} || exit
export PYTHONPATH="$PWD/code:$PWD/packages" NOBI_CACHE_DIR="$PWD/cache" PYTHONUNBUFFERED=1
nobi="${PYTHON:-python3} -m gtp_engine.cli"
from=; [ -f start.bin.gz ] && [ ! -f run/checkpoint.pt ] && from="--from start.bin.gz"
$nobi train run $from --config gpu.toml --budget "${1:-9m}"
code=$?
if [ -n "$out" ] && [ -f run/checkpoint.pt ]; then
    rm -f "$out"/run.tar.* run/unfinished.bin.gz
    grep -aq '"leg_budget":0.0' run/checkpoint.pt || $nobi export run run/unfinished.bin.gz
    tar -cf - --exclude='*/checkpoint*' --exclude='*/.new-*' --exclude='*/start.*' --exclude='*/leg*' run |
        split -b 15728640 - "$out/run.tar."
fi
exit $code
"""


@click.command(help=__doc__)
@click.argument("out", type=click.Path(path_type=Path))
@config_option
@set_option
@click.option("--from", "source", type=existing_network, help="A network to begin with, as of `nobi train`.")
@click.option("--without", default="", metavar="6,7,8", help="Leave these blocks of that network's trunk out.")
@click.option("--python", default="3.12", show_default=True, help="The Python of the machine, on Linux and x86-64.")
@click.option("--most", type=click.IntRange(1), default=64, show_default=True, help="How many MiB may travel.")
def main(
    out: Path,
    config_file: Path | None,
    settings: tuple[str, ...],
    source: Path | None,
    without: str,
    python: str,
    most: int,
) -> None:
    """Run the command line."""
    try:
        if without and source is None:
            raise TrainingError("--without needs --from")
        start = {} if source is None else packed_start(source, without)
        pack(out, read_settings(config_file, settings), start, python, most << 20)
    except TrainingError as error:
        raise click.ClickException(str(error)) from None


def packed_start(source: Path, without: str = "") -> dict[str, bytes]:
    """Return the files of a network that the student begins with, which has all blocks of `source` but those that
    `without` names. Raises TrainingError."""
    files = {START: rounded_content(encode_model(read_student(source, without)))}
    card = card_beside(source)
    if card.exists():
        with named_errors(card):
            files[START_CARD] = card.read_bytes()
    return files


def pack(out: Path, config: TrainingConfig, start: dict[str, bytes], python: str, most: int) -> None:
    """Create the folder `out`, with the files `start` in it, and say how large its parts are. Raises TrainingError,
    also where it is larger than `most` bytes; what was begun is removed then."""
    if out.exists():
        raise TrainingError(f"{out}: exists already; a new folder is made")
    data = config.data
    if data.samples_share:
        raise TrainingError("sample files do not travel: set data.samples_share to 0")
    # What is missing or damaged is found before the downloads, which take long.
    if data.records_share:
        load_records(data.records)
    if config.run.yardstick:
        load_yardstick(Path(config.run.yardstick))
    teacher = rounded_network(Path(data.teacher)) if data.teacher else None
    with named_errors(out):
        out.mkdir(parents=True)
    try:
        _fill(out, config, teacher, start, python, most)
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)  # or the next try would find that it exists
        raise


def _fill(
    out: Path, config: TrainingConfig, teacher: bytes | None, start: dict[str, bytes], python: str, most: int
) -> None:
    """Put all parts into the new folder `out`. Raises TrainingError."""
    data = config.data
    with named_errors(out):
        _copy_code(out / "code")
        download(out / "packages", python)
        (out / "leg.sh").write_text(LEG, encoding="utf-8")
    for name, content in start.items():
        write_whole(out / name, content)
    if config.run.yardstick:
        yardstick = Path(config.run.yardstick)
        with named_errors(yardstick):
            shutil.copyfile(yardstick, out / yardstick.name)
    if teacher is not None:
        write_whole(out / Path(data.teacher).name, teacher)
    write_whole(out / "gpu.toml", describe(_beside(config)).encode())
    if data.records_share:
        records = Path(data.records.path)
        content, kept, count = packed_records(records, most - size_of(out) - SPARE_BYTES, data.records.skip)
        write_whole(out / records.name, content)
        click.echo(f"{kept:,} of {count:,} games fit", err=True)
    for part in sorted(out.iterdir()):
        click.echo(f"{size_of(part) / (1 << 20):8.2f} MiB  {part.name}", err=True)
    total = size_of(out)
    click.echo(f"{total / (1 << 20):8.2f} MiB  in all", err=True)
    if total > most:
        raise TrainingError(f"{out}: is larger than the {most >> 20} MiB that may travel")


def packed_records(path: Path, room: int, skip: int) -> tuple[bytes, int, int]:
    """Return a file of game records of at most `room` bytes with the first games of `path`, how many games it has, and
    how many `path` has. Raises TrainingError, also where there is no room for more than the `skip` games that are left
    out."""
    arrays = dict(zip(ARRAYS, read_arrays(path, ARRAYS, "a file of game records"), strict=True))
    count = kept = len(arrays["offsets"]) - 1
    while kept > skip:
        content = _compressed(_first_games(arrays, kept))
        if len(content) <= room:
            return content, kept, count
        kept = min(kept - 1, int(kept * 0.98 * max(room, 0) / len(content)))
    raise TrainingError(f"{path}: there is no room for any of its games")


def _first_games(arrays: dict[str, NDArray[Any]], count: int) -> dict[str, NDArray[Any]]:
    first = {name: array[:count] for name, array in arrays.items()}
    offsets = arrays["offsets"][: count + 1]
    return {**first, "offsets": offsets, "moves": arrays["moves"][: int(offsets[-1])]}


def _compressed(arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return what np.load reads as an archive of these arrays."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    return buffer.getvalue()


def _copy_code(target: Path) -> None:
    root = Path(__file__).parents[2]
    for package in launch.PACKAGES:
        shutil.copytree(root / package, target / package, ignore=shutil.ignore_patterns("__pycache__", "weights"))


def download(target: Path, python: str) -> None:
    """Put the packages that travel into `target`. Raises TrainingError."""
    target.mkdir()
    platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
    command = [sys.executable, "-I", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--python-version", python, "--implementation", "cp", *platforms]
    command += ["--dest", str(target), *PACKAGES]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
        raise TrainingError(f"packages for Python {python}: {reason}")
    for wheel in sorted(target.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target)
        wheel.unlink()


def _beside(config: TrainingConfig) -> TrainingConfig:
    """Return the configuration with all files beside it."""
    data, run = config.data, config.run
    records = replace(data.records, path=Path(data.records.path).name)
    data = replace(data, teacher=Path(data.teacher).name, records=records)
    return replace(config, run=replace(run, yardstick=Path(run.yardstick).name), data=data)


def size_of(path: Path) -> int:
    """Return how many bytes a file has, or all files in a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())


if __name__ == "__main__":
    main()

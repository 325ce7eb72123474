"""One line per check, and a fresh folder of workflows for each session."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
import traceback
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

HERE = Path(__file__).parent
BINARY = str(Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else ""

LIVE_WITHIN_S = 1.5
"""A dropped file is live within a second; the rest is this client's own time."""


def passed(name: str) -> None:
    print(f"ok   {name}", flush=True)


def failed(name: str, why: str) -> None:
    print(f"FAIL {name}: {' '.join(why.split())[:600]}", flush=True)


@asynccontextmanager
async def check(name: str):
    """A check that goes on to the next one whatever happens."""
    try:
        yield
    except Exception as error:  # every failure of a check is its result
        report(name, error)
    else:
        passed(name)


@contextmanager
def check_now(name: str):
    """The same for code that does not wait."""
    try:
        yield
    except Exception as error:  # every failure of a check is its result
        report(name, error)
    else:
        passed(name)


def report(name: str, error: BaseException) -> None:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(str(HERE))]
    place = f" ({Path(ours[-1].filename).name}:{ours[-1].lineno}: {ours[-1].line})" if ours else ""
    failed(name, f"{type(error).__name__}: {error}{place}")


def equal(actual, expected, what: str = "value") -> None:
    if actual != expected:
        raise AssertionError(f"{what} is {actual!r}, not {expected!r}")


def contains(text: str, *parts: str) -> None:
    for part in parts:
        if part not in text:
            raise AssertionError(f"{part!r} is not in {text!r}")


@contextmanager
def folder():
    """A copy of the test's folder, and a state folder beside it."""
    with tempfile.TemporaryDirectory(prefix="punctual-clients-") as made:
        root = Path(made)
        shutil.copytree(HERE / "folder", root / "folder")
        (root / "state").mkdir()
        yield root / "folder"


def command(directory: Path) -> list[str]:
    return [BINARY, "serve", "--dir", str(directory)]


def environment(directory: Path) -> dict[str, str]:
    """What a desktop client passes on: next to nothing, and no key."""
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(directory.parent),
        "XDG_STATE_HOME": str(directory.parent / "state"),
    }


def drop(directory: Path, source: str, name: str) -> float:
    """Puts a file into the folder the way editors save one; returns when."""
    target = directory / "workflows" / name
    partial = target.with_suffix(".tmp")
    shutil.copyfile(HERE / "dropped" / source, partial)
    partial.rename(target)
    return time.monotonic()

"""Mutates whole conversations and holds them with the real server: it answers or ends with its own words, never else."""
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

from client import *

BOXD = os.environ["BOXD"]
USER = 65534 if os.geteuid() == 0 else None
# One small file, as tar has it.
TAR = (b"a".ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + b"00000000003\0" + b"00000000000\0" + b"006101\0 " + b"0" +
       b"\0" * 100 + b"ustar\00000").ljust(512, b"\0") + b"abc".ljust(512, b"\0") + b"\0" * 1024
WINDOW = struct.pack("<I", 1 << 20)


def some_path(dice):
    return dice.choice(["", "a", "a/b", "..", "f", "d/e/f", b"\xff", "x" * 300])


def requests(dice, identity):
    path = lambda: string(some_path(dice))
    yield frame(STAT, identity, WINDOW + group(path() for _ in range(dice.randrange(4))))
    yield frame(LIST, identity, WINDOW + path() + struct.pack("<HI", dice.randrange(5), dice.randrange(50)) + group([string("d")]))
    yield frame(READ, identity, WINDOW + group([path() + struct.pack("<QQ", dice.randrange(9), 1 << 40) + string("")]))
    yield (frame(WRITE, identity, WINDOW + group([path() + struct.pack("<BQ", dice.randrange(4), 3) + string("") +
                                                  struct.pack("<H", 0o644)])) +
           frame(DATA, identity, b"abc") + frame(END, identity))
    yield frame(REMOVE, identity, WINDOW + group([path() + string("") + b"\1"]))
    yield frame(RESET, identity, WINDOW + group([path()]))
    yield frame(MKDIR, identity, WINDOW + group([path()]))
    yield frame(RENAME, identity, WINDOW + path() + path() + b"\1")
    yield frame(TAR_OUT, identity, WINDOW + path())
    yield frame(TAR_IN, identity, WINDOW + path() + struct.pack("<Q", 1 << 20)) + frame(DATA, identity, TAR) + frame(END, identity)
    yield frame(RELAY, identity, struct.pack("<IIH", dice.randrange(70), 1 << 16, 0)) + frame(CREDIT, identity, b"\0\1\0\0\0")
    yield frame(RELAY, identity, struct.pack("<IIH", 1, 1, 0)) + frame(CANCEL, identity)
    yield frame(DATA, FIRST_CONNECTION + dice.randrange(3), b"x") + frame(END, FIRST_CONNECTION + dice.randrange(3))
    yield frame(PROCESSES, identity)
    yield frame(USAGE, identity)
    yield (frame(SPAWN, identity, spawn_body(["/bin/cat"], stdin=True, window=dice.randrange(1 << 20))) +
           frame(DATA, identity, b"abc") + frame(END, identity))
    yield frame(SPAWN, identity, spawn_body(["/bin/echo", "x"], tty=(2, 2))) + frame(RESIZE, identity, b"\1\0\1\0")
    yield frame(SPAWN, identity, spawn_body(["/bin/sleep", "9"])) + frame(KILL, identity, b"\2\0") + frame(CANCEL, identity)
    yield frame(CREDIT, identity, struct.pack("<BI", dice.randrange(2), dice.randrange(1 << 32)))
    yield frame(PING, 0, b"x")


def conversation(dice):
    parts = [frame(HELLO, 0, struct.pack("<HH", 1, 1) + string("fuzz"))]
    for identity in range(1, dice.randrange(2, 20)):
        parts.append(dice.choice(list(requests(dice, identity))))
    data = bytearray(b"".join(parts))
    first = len(parts[0])
    for _ in range(dice.randrange(3)):
        at = dice.randrange(first, len(data)) if len(data) > first else 0
        kind = dice.randrange(4)
        if kind == 0:
            data[at] ^= 1 << dice.randrange(8)
        elif kind == 1:
            data[at] = dice.choice((0, 0xFF, dice.randrange(256)))
        elif kind == 2:
            del data[at:at + dice.randrange(1, 30)]
        else:
            data[at:at] = data[at:at + dice.randrange(1, 60)]
    return bytes(data)


def hold(seed, root):
    dice = random.Random(seed)
    options = {} if USER is None else {"user": USER, "group": USER, "extra_groups": []}
    data = conversation(dice)
    process = subprocess.Popen([BOXD, "serve", "--root", root, *(["--walk"] if seed % 2 else [])], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", **options)
    try:
        out, error = process.communicate(data, timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        raise SystemExit(f"seed {seed}: the server does not end")
    if process.returncode not in (0, 76) or error:
        raise SystemExit(f"seed {seed}: exit {process.returncode}: {error.decode(errors='replace')[-2000:]}")
    at = 0
    while at < len(out):
        length, _, kind, flags, zero = HEADER.unpack_from(out, at)
        if length > MAX_PAYLOAD or flags or zero or not B_HELLO <= kind <= B_ENDED:
            raise SystemExit(f"seed {seed}: broken answer")
        at += 12 + length
    if at != len(out):
        raise SystemExit(f"seed {seed}: half an answer")
    return process.returncode


def main():
    rounds, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    root = tempfile.mkdtemp(prefix="boxd-fuzz-")
    os.chmod(root, 0o777)
    try:
        ends = [hold(seed, root) for seed in range(first, first + rounds)]
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(f"{rounds} mutated conversations, {ends.count(76)} of them refused")


main()

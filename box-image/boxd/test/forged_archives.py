"""Archives as a hostile sender would forge them: an honest file `a.txt`, and one lie in each. All are uncompressed."""

BLOCK = 512
END = bytes(2 * BLOCK)


def header(name=b"a.txt", size=5, kind=b"0", **lies):
    """One header with a right checksum, unless `wrong_sum` is given. `raw_size` stands in for the octal size."""
    fields = bytearray(BLOCK)

    def put(at, value):
        fields[at:at + len(value)] = value

    put(0, name[:100])
    put(100, b"%07o\0" % lies.get("mode", 0o644))
    put(108, b"0000000\0" * 2)
    put(124, lies.get("raw_size", b"%011o\0" % size))
    put(136, b"%011o\0" % 0)
    put(148, b" " * 8)
    put(156, kind)
    put(157, lies.get("goal", b""))
    put(257, b"ustar\x0000" if lies.get("posix", True) else b"ustar  \0")
    put(345, lies.get("prefix", b""))
    put(148, b"%06o\0 " % (sum(fields) + lies.get("wrong_sum", 0)))
    return bytes(fields)


def filled(content):
    return content + bytes(-len(content) % BLOCK)


def member(name=b"a.txt", content=b"hello", **lies):
    return header(name, len(content), **lies) + filled(content)


def extended(key, value, kind=b"x"):
    """A header of POSIX extensions that says one thing."""
    short = b" %s=%s\n" % (key, value)
    length = len(short) + 1
    while len(b"%d" % length) + len(short) != length:
        length += 1
    return member(b"PaxHeaders/a", b"%d" % length + short, kind=kind)


def special(kind, goal=b""):
    """A member without content, of a kind that is no file."""
    return header(size=0, kind=kind, goal=goal)


HONEST = member()

# Taken: the file is as it should be and nothing else is there.
TAKEN = {
    "plain": HONEST + END,
    "padded to a record": HONEST + bytes(20 * BLOCK),
    "with a set-user-id bit": member(mode=0o6755) + END,
}

# Harmless for who unpacks a directory: all is inside, as files. Names, and what may be there afterwards.
OTHER_FILES = {
    "another name": (member(b"b.txt") + END, ["b.txt"]),
    "a second file": (HONEST + member(b"evil") + END, ["a.txt", "evil"]),
    "a line break in the name": (member(b"a.txt\n") + END, ["a.txt\n"]),
    "bytes that are no UTF-8": (member(b"\xff\xfe") + END, ["\udcff\udcfe"]),
    "the same file twice": (HONEST + HONEST + END, ["a.txt"]),
    "something after the end": (HONEST + END + b"junk" * 20_000, ["a.txt"]),
}

REFUSED = {
    "parents": member(b"../../etc/cron.d/x") + END,
    "parents in the middle": member(b"a/../../../x") + END,
    "an absolute path": member(b"/etc/passwd") + END,
    "parents in the prefix": member(prefix=b"../..") + END,
    "a link": special(b"2", b"/etc/passwd") + END,
    "a hard link": special(b"1", b"/etc/passwd") + END,
    "a character device": special(b"3") + END,
    "a block device": special(b"4") + END,
    "a pipe": special(b"6") + END,
    "a further volume": member(kind=b"M") + END,
    "a list of a directory": member(kind=b"D") + END,
    "an old file with holes": member(kind=b"S") + END,
    "an unknown kind": member(kind=b"Z") + END,
    "a kind that is no letter": member(kind=b"\1") + END,
    "a link, then a file below it": special(b"2", b"/etc") + member(b"a.txt/passwd") + END,
    "another path by extension": extended(b"path", b"../../x") + HONEST + END,
    "another size by extension": extended(b"size", b"99999999999") + HONEST + END,
    "a goal by extension": extended(b"linkpath", b"/etc/passwd") + special(b"2") + END,
    "a path for all by extension": extended(b"path", b"x", kind=b"g") + special(b"2", b"/etc") + END,
    "holes by extension": extended(b"GNU.sparse.realsize", b"99999999999") + member(kind=b"S") + END,
    "an extension of 8 GiB": header(b"p", 1 << 32, kind=b"x") + b"1" * 65_536,
    "parents in a long name": member(b"././@LongLink", b"../../../etc/x\0", kind=b"L", posix=False) + HONEST + END,
    "a long name of 4 GiB": header(b"././@LongLink", 1 << 32, kind=b"L") + b"a" * 65_536,
    "two long names": member(b"././@LongLink", b"a.txt\0", kind=b"L") * 2 + HONEST + END,
    "a long goal": member(b"././@LongLink", b"/etc/x\0", kind=b"K") + HONEST + END,
    "a size in base 256": member(raw_size=b"\x80" + b"\xff" * 11) + END,
    "a negative size": member(raw_size=b"\xff" * 12) + END,
    "a size that is no number": member(raw_size=b"5zzzzzzzzzzz") + END,
    "a size that never comes": header(size=0o77777777777) + filled(b"hello"),
    "a wrong checksum": member(wrong_sum=1) + END,
    "a cut header": HONEST[:300],
    "a cut content": header() + b"he",
    "no end": HONEST,
    "nothing": b"",
    "no archive": b"<html>" * 200,
    "an empty name": header(b"", 5) + filled(b"hello") + END,
    "a contiguous file": member(kind=b"7") + END,
    "a path that is a directory": member() + member(b"a.txt/b") + END,
}

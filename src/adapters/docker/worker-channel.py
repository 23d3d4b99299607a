"""Common part of the in-box worker: frames on stdin and stdout, and paths below the workspace.

A frame is type (1 byte), index (4), payload length (4), all big-endian, then the payload. The host closing stdin means
that it is gone. The part that follows this one says which operations the worker knows.
"""
import errno, json, os, select, stat, struct, sys

ROOT = b"/workspace"
HEADER = struct.Struct(">BII")
CHUNK = 65536
MAX_INCOMING = 8 << 20
MAX_SAFE = (1 << 53) - 1

REQUEST, DATA, END, DISCARD, KILL = 1, 2, 3, 4, 5
ENTRY, BYTES, FINISHED, FAULT, ENTRIES, ANSWER, STDOUT, STDERR, STARTED, EXIT, DONE = range(0x81, 0x8C)


class Hangup(Exception):
    """The host closed its end."""


class Fault(Exception):
    """One item cannot be done; the first argument is the word for the host."""


class Channel:
    def __init__(self):
        os.set_blocking(1, False)
        self.poll = select.poll()
        self.poll.register(0, 0)  # nothing but the hang-up
        self.poll.register(1, select.POLLOUT)

    def send(self, kind, index=0, payload=b""):
        rest = memoryview(HEADER.pack(kind, index, len(payload)) + payload)
        while rest:
            try:
                rest = rest[os.write(1, rest):]
            except BlockingIOError:
                self.wait()
            except OSError:
                raise Hangup() from None

    def send_json(self, kind, index, value):
        self.send(kind, index, json.dumps(value, separators=(",", ":")).encode())

    def wait(self):
        for descriptor, events in self.poll.poll():
            if descriptor == 0 or events & (select.POLLERR | select.POLLHUP):
                raise Hangup()

    def receive(self):
        kind, index, length = HEADER.unpack(self.exactly(HEADER.size))
        if length > MAX_INCOMING:
            raise Hangup()
        return kind, index, self.exactly(length)

    def exactly(self, count):
        parts = []
        while count:
            part = os.read(0, min(count, 1 << 20))
            if not part:
                raise Hangup()
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def request(self):
        kind, _, payload = self.receive()
        if kind != REQUEST:
            raise Hangup()
        return json.loads(payload)


WORDS = {
    errno.ENOENT: "not_found",
    errno.ENOTDIR: "not_directory",
    errno.ELOOP: "symlink_component",
    errno.EEXIST: "exists",
    errno.EISDIR: "not_regular",
    errno.ENOSPC: "no_space",
    errno.EDQUOT: "no_space",
    errno.EFBIG: "no_space",
    errno.ENAMETOOLONG: "bad_path",
    errno.EILSEQ: "bad_path",
}


def word_of(error, otherwise):
    return WORDS.get(error.errno, otherwise)


ROOT_DESCRIPTOR = os.open(ROOT, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
DEVICE = os.fstat(ROOT_DESCRIPTOR).st_dev


def encode_parts(item):
    """Names of a path as bytes; a path that the host has refused already stays refused."""
    if "fault" in item:
        raise Fault(item["fault"])
    return [part.encode() for part in item["parts"]]


def peek(parent, name):
    """Opens an entry without any effect on it and without following a link."""
    return os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=parent)


def step(parent, name):
    """Opens one directory below `parent`, never through a link."""
    descriptor = peek(parent, name)
    info = os.fstat(descriptor)
    fault = None
    if stat.S_ISLNK(info.st_mode):
        fault = "symlink_component"
    elif not stat.S_ISDIR(info.st_mode):
        fault = "not_directory"
    elif info.st_dev != DEVICE:
        fault = "escapes"
    if fault is not None:
        os.close(descriptor)
        raise Fault(fault)
    return descriptor


def make_step(parent, name):
    """Like `step`, but makes the directory if nothing has its name."""
    try:
        return step(parent, name)
    except FileNotFoundError:
        try:
            os.mkdir(name, 0o755, dir_fd=parent)
        except FileExistsError:
            pass
        return step(parent, name)


def walk(parts, stride=step):
    """Opens the directory `parts` from the workspace downwards; the caller closes it."""
    held = os.dup(ROOT_DESCRIPTOR)
    try:
        for part in parts:
            below = stride(held, part)
            os.close(held)
            held = below
    except BaseException:
        os.close(held)
        raise
    return held


def regain(held):
    """Gives the box user its rights on a held directory of its own back; other bits, owners and kinds stay."""
    info = os.fstat(held)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o700 == 0o700:
        return
    try:
        os.chmod("/proc/self/fd/%d" % held, stat.S_IMODE(info.st_mode) | 0o700)
    except OSError:
        pass  # what comes next is refused too, and is told


def reopen(descriptor, flags):
    """A working descriptor of exactly the entry that a peeked one holds."""
    return os.open("/proc/self/fd/%d" % descriptor, flags | os.O_NONBLOCK | os.O_NOCTTY)


def version_of(info):
    return "%d.%d.%d.%d.%d" % (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def is_readable(info):
    if info.st_uid == os.geteuid():
        return bool(info.st_mode & stat.S_IRUSR)
    return bool(info.st_mode & (stat.S_IRGRP if info.st_gid == os.getegid() else stat.S_IROTH))


def describe(info):
    kind = "other"
    if stat.S_ISREG(info.st_mode):
        kind = "file"
    elif stat.S_ISDIR(info.st_mode):
        kind = "directory"
    elif stat.S_ISLNK(info.st_mode):
        kind = "link"
    return {
        "kind": kind,
        "size": min(info.st_size, MAX_SAFE),
        "links": info.st_nlink,
        "mode": stat.S_IMODE(info.st_mode),
        "modified": info.st_mtime_ns // 1000000,
        "version": version_of(info),
        "readable": is_readable(info),
    }


def serve(operations):
    os.umask(0o022)
    channel = Channel()
    try:
        request = channel.request()
        operations[request["op"]](channel, request)
        channel.send(DONE)
    except Hangup:
        sys.exit(0)

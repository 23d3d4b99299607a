"""Speaks the protocol of boxd from the host's side; plain standard library, so that any machine can test with it."""
import collections
import os
import queue
import struct
import subprocess
import threading

HELLO, PING, CREDIT, CANCEL, DATA, END, KILL, SIGNAL, RESIZE = range(1, 10)
SPAWN, STAT, LIST, READ, WRITE, REMOVE, RESET, MKDIR, RENAME, TAR_OUT, TAR_IN, PROCESSES, USAGE, RELAY = range(0x10, 0x1E)
(B_HELLO, B_PONG, B_CREDIT, B_ERROR, B_DONE, B_FAULT, B_STARTED, B_STDOUT, B_STDERR, B_EXIT, B_ENTRY, B_BYTES,
 B_FINISHED, B_ENTRIES, B_LISTED, B_PROCESSES, B_USAGE, B_TAR, B_RELAYING, B_OPENED, B_RECEIVED, B_ENDED) = range(0x81, 0x97)
HEADER = struct.Struct("<IIBBH")
CREATE, OVERWRITE, APPEND = range(3)
MAX_PAYLOAD, IN_WINDOW = 65536, 524288
RELAY_WINDOW, MAX_CONNECTIONS, FIRST_CONNECTION = 131072, 64, 1 << 31
GENEROUS = 1 << 31
WHOLE = 0xFFFFFFFF
LIMIT = 20

Frame = collections.namedtuple("Frame", "type id payload")
Exit = collections.namedtuple("Exit", "by ended value leftovers started ended_at user system rss memory pids flags")
Entry = collections.namedtuple("Entry", "kind readable mode links size modified version")


def frame(kind, identity=0, payload=b"", flags=0):
    return HEADER.pack(len(payload), identity, kind, flags, 0) + payload


def string(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(value)) + value


def group(items):
    items = list(items)
    return struct.pack("<I", len(items)) + b"".join(items)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values[0] if len(values) == 1 else values

    def string(self):
        length = self.take("I")
        value = self.data[self.at:self.at + length]
        assert len(value) == length
        self.at += length
        return bytes(value)

    def entry(self):
        return Entry(*self.take("BBHIQq"), self.string().decode())


def spawn_body(argv, cwd="", env=None, stdin=False, tty=None, timeout_ms=0, limits=(), window=GENEROUS):
    rows, columns = tty or (0, 0)
    env = {"PATH": os.defpath, "HOME": "/"} if env is None else env
    flags = (1 if stdin else 0) | (2 if tty else 0)
    return (struct.pack("<I", window) + group(map(string, argv)) +
            group(string(f"{name}={value}") for name, value in env.items()) + string(cwd) +
            struct.pack("<BHHQ", flags, rows, columns, timeout_ms) +
            group(struct.pack("<BQ", *limit) for limit in limits))


def read_exit(payload):
    return Exit(*Reader(payload).take("BBHIqqQQQqqB"))


class Lost(Exception):
    """The channel ended."""


class Call:
    """One request: its frames in order of arrival."""

    def __init__(self, client, identity, window=IN_WINDOW):
        self.client, self.id, self.frames, self.window, self.ready = client, identity, queue.Queue(), window, threading.Condition()
        self.is_over = False

    def next(self, timeout=LIMIT):
        found = self.frames.get(timeout=timeout)
        if found is None:
            self.frames.put(None)
            raise Lost()
        return found

    def rest(self, timeout=LIMIT):
        """All frames up to the end; the status of the end last."""
        found = []
        while True:
            one = self.next(timeout)
            if one.type == B_DONE:
                return found, one.payload[0]
            found.append(one)

    def say(self, kind, payload=b""):
        self.client.send(frame(kind, self.id, payload))

    def credit(self, amount, stream=0):
        self.say(CREDIT, struct.pack("<BI", stream, amount))

    def kill(self, mode=2, flags=0):
        self.say(KILL, bytes([mode, flags]))

    def data(self, content):
        """Sends contents within the window."""
        view = memoryview(content)
        while view:
            part = view[:MAX_PAYLOAD]
            with self.ready:
                assert self.ready.wait_for(lambda: self.is_over or self.window >= len(part) + 12, LIMIT), "no credit"
                if self.is_over:
                    return
                self.window -= len(part) + 12
            self.say(DATA, bytes(part))
            view = view[len(part):]

    def end(self):
        with self.ready:
            assert self.ready.wait_for(lambda: self.is_over or self.window >= 12, LIMIT), "no credit"
            self.window -= 12
        self.say(END)


class Client:
    def __init__(self, argv, greet=True, user=None, preexec=None, read=True):
        options = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        bufsize=0, preexec_fn=preexec, cwd="/", **options)
        self.start(self.process.stdout, self.process.stdin, greet, read)

    def start(self, source, sink, greet=True, read=True):
        self.source, self.sink, self.strange, self.ending = source, sink, [], None
        self.calls, self.identity, self.lock = {}, 0, threading.Lock()
        self.opened = queue.Queue()
        self.channel = Call(self, 0)
        self.calls[0] = self.channel
        self.thread = threading.Thread(target=self.read, daemon=True)
        if read:
            self.thread.start()
        if greet:
            self.greet()

    def greet(self):
        hello = self.channel.next()
        assert hello.type == B_HELLO
        reader = Reader(hello.payload)
        self.protocol, self.features, _, _, _, self.max_commands, self.max_requests, self.pid, self.uid = reader.take("HIIIIHHII")
        self.version = reader.string().decode()
        self.send(frame(HELLO, 0, struct.pack("<HH", 1, 1) + string("test")))

    def exactly(self, count):
        parts = []
        while count:
            part = self.source.read(min(count, 1 << 20))
            if not part:
                raise Lost()
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def read(self):
        try:
            while True:
                length, identity, kind, flags, zero = HEADER.unpack(self.exactly(12))
                assert length <= MAX_PAYLOAD and flags == 0 and zero == 0, "broken frame from the box"
                self.take(Frame(kind, identity, self.exactly(length)))
        except (Lost, OSError, ValueError):
            pass
        with self.lock:
            for call in self.calls.values():
                call.frames.put(None)

    def take(self, one):
        if one.type == B_OPENED:
            with self.lock:
                assert one.id >= FIRST_CONNECTION and one.id not in self.calls and one.payload == b""
                call = self.calls[one.id] = Call(self, one.id, RELAY_WINDOW)
            self.opened.put(call)
            return
        with self.lock:
            call = self.calls.get(one.id)
        if call is None:
            self.strange.append(one)
            return
        if one.type in (B_CREDIT, B_DONE):
            with call.ready:
                call.is_over = one.type == B_DONE
                call.window += struct.unpack("<I", one.payload)[0] if one.type == B_CREDIT else 0
                call.ready.notify_all()
        if one.type != B_CREDIT:
            if one.type == B_DONE:
                with self.lock:
                    del self.calls[one.id]
            call.frames.put(one)

    def send(self, data):
        view = memoryview(data)
        with self.lock_of_sink():
            while view:
                view = view[self.sink.write(view):]

    def lock_of_sink(self):
        if not hasattr(self, "sink_lock"):
            self.sink_lock = threading.Lock()
        return self.sink_lock

    def request(self, kind, body):
        with self.lock:
            self.identity += 1
            call = self.calls[self.identity] = Call(self, self.identity)
        parts = [body[at:at + MAX_PAYLOAD] for at in range(0, len(body), MAX_PAYLOAD)] or [b""]
        self.send(b"".join(frame(kind, call.id, part, 0 if part is parts[-1] else 1) for part in parts))
        return call

    # Requests with their answers

    def spawn(self, argv, **options):
        return self.request(SPAWN, spawn_body(argv, **options))

    def run(self, argv, **options):
        """@returns (exit, stdout, stderr, status of the end)"""
        return self.collect(self.spawn(argv, **options))

    def sh(self, text, **options):
        return self.run(["/bin/sh", "-c", text], **options)

    @staticmethod
    def until_exit(call, timeout=LIMIT):
        out, error = [], []
        while True:
            one = call.next(timeout)
            if one.type == B_STDOUT:
                out.append(one.payload)
            elif one.type == B_STDERR:
                error.append(one.payload)
            elif one.type == B_EXIT:
                return read_exit(one.payload), b"".join(out), b"".join(error)
            elif one.type == B_DONE:
                raise AssertionError(f"ended without exit: {one}")
            elif one.type == B_FAULT:
                raise AssertionError(f"fault: {one}")

    def collect(self, call):
        found = self.until_exit(call)
        _, status = call.rest()
        return (*found, status)

    def answers(self, call):
        """Answers by index: an entry, True, or the word of a fault."""
        frames, status = call.rest()
        assert status == 0, status
        answers = {}
        for one in frames:
            reader = Reader(one.payload)
            index = reader.take("I")
            if one.type == B_ENTRY:
                answers[index] = reader.entry()
            elif one.type == B_FINISHED:
                answers[index] = True
            elif one.type == B_FAULT:
                answers[index] = reader.string().decode()
            else:
                raise AssertionError(one)
        return [answers[index] for index in sorted(answers)]

    def stat(self, *paths):
        return self.answers(self.request(STAT, struct.pack("<I", GENEROUS) + group(map(string, paths))))

    def read_files(self, *items, window=GENEROUS):
        """Items are (path, offset, length, version). @returns per item (entry or None, bytes, True or the fault)"""
        def item(path, offset=0, length=(1 << 64) - 1, version=""):
            return string(path) + struct.pack("<QQ", offset, length) + string(version)
        body = struct.pack("<I", window) + group(item(*(one if isinstance(one, tuple) else (one,))) for one in items)
        found = [[None, [], None] for _ in items]
        frames, status = self.request(READ, body).rest()
        assert status == 0, status
        for one in frames:
            reader = Reader(one.payload)
            slot = found[reader.take("I")]
            if one.type == B_ENTRY:
                slot[0] = reader.entry()
            elif one.type == B_BYTES:
                slot[1].append(one.payload[4:])
            elif one.type == B_FINISHED:
                slot[2] = True
            else:
                slot[2] = reader.string().decode()
        return [(entry, b"".join(parts), end) for entry, parts, end in found]

    def begin_write(self, *items):
        """Items are (path, mode, size, version, file mode)."""
        def item(path, mode, size, version="", file_mode=0o644):
            return string(path) + struct.pack("<BQ", mode, size) + string(version) + struct.pack("<H", file_mode)
        return self.request(WRITE, struct.pack("<I", GENEROUS) + group(item(*one) for one in items))

    def write_files(self, *items):
        """Items are (path, mode, content[, version, file mode])."""
        call = self.begin_write(*((path, mode, len(content), *more) for path, mode, content, *more in items))
        for _, _, content, *_ in items:
            call.data(content)
            call.end()
        return self.answers(call)

    def list(self, path="", depth=1, room=100000, skip=()):
        """@returns ({path: entry} in order, truncated), or the fault"""
        body = struct.pack("<I", GENEROUS) + string(path) + struct.pack("<HI", depth, room) + group(map(string, skip))
        frames, status = self.request(LIST, body).rest()
        assert status == 0
        entries = {}
        for one in frames:
            reader = Reader(one.payload)
            if one.type == B_ENTRIES:
                for _ in range(reader.take("I")):
                    name = reader.string()
                    entries[name] = reader.entry()
            elif one.type == B_LISTED:
                return entries, bool(one.payload[0])
            else:
                reader.take("I")
                return reader.string().decode()
        raise AssertionError("no end of the list")

    def remove(self, *items):
        """Items are (path, version, recursive)."""
        def item(path, version="", recursive=False):
            return string(path) + string(version) + bytes([recursive])
        body = struct.pack("<I", GENEROUS) + group(item(*(one if isinstance(one, tuple) else (one,))) for one in items)
        return self.answers(self.request(REMOVE, body))

    def reset(self, *paths):
        return self.answers(self.request(RESET, struct.pack("<I", GENEROUS) + group(map(string, paths))))

    def mkdir(self, *paths):
        return self.answers(self.request(MKDIR, struct.pack("<I", GENEROUS) + group(map(string, paths))))

    def rename(self, source, target, replace=False):
        body = struct.pack("<I", GENEROUS) + string(source) + string(target) + bytes([replace])
        return self.answers(self.request(RENAME, body))[0]

    def processes(self):
        frames, status = self.request(PROCESSES, b"").rest()
        assert status == 0
        reader = Reader(frames[0].payload)
        truncated, count = reader.take("BI")
        found = []
        for _ in range(count):
            pid, parent, state, rss = reader.take("IIBQ")
            found.append((pid, parent, chr(state), rss, reader.string().decode()))
        assert not truncated
        return found

    def usage(self):
        frames, status = self.request(USAGE, b"").rest()
        assert status == 0
        return Reader(frames[0].payload).take("QQQQQqqqqqq")

    def relay(self, connections=MAX_CONNECTIONS, window=GENEROUS, port=0):
        """@returns (request, port), or (request, the word of a refusal)"""
        call = self.request(RELAY, struct.pack("<IIH", connections, window, port))
        answer = call.next()
        if answer.type == B_FAULT:
            assert call.next().payload == b"\3"
            return call, answer.payload[8:].decode()
        assert answer.type == B_RELAYING
        return call, Reader(answer.payload).take("H")

    def ping(self, payload=b"x", timeout=LIMIT):
        self.send(frame(PING, 0, payload))
        answer = self.channel.next(timeout)
        assert answer.type == B_PONG and answer.payload == payload
        return answer

    def close(self):
        """@returns (exit code, stderr)"""
        if self.ending is None:
            self.ending = self.finish()
        return self.ending

    def finish(self):
        try:
            self.sink.close()
        except OSError:
            pass
        code = self.process.wait(timeout=LIMIT)
        error = self.process.stderr.read()
        self.thread.join(5)
        self.process.stdout.close()
        self.process.stderr.close()
        return code, error

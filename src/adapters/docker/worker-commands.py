"""Commands of the in-box worker. Needs worker-channel.py before it.

The worker is the subreaper of one command: whatever the command starts, in whatever session or group, stays below it and
is found by descent. It answers when the foreground process ends, and stays for what that left behind.
"""
import ctypes, signal, time

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
DRAIN_READS = 64
SWEEP_SECONDS = 10
GRACE_SECONDS = 0.1
SLICE_SECONDS = 0.01
REST = 3
WRITE_RATE = 400 << 20
MAX_STACK = 500
libc = ctypes.CDLL(None)


def count_events():
    """How often this box met its memory and process limits so far; -1 where the kernel does not tell."""
    memory = first_count("oom_kill", "/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events")
    pids = first_count("max", "/sys/fs/cgroup/pids/pids.events", "/sys/fs/cgroup/pids.events")
    return {"oom_kills": memory, "pids_refused": pids}


def first_count(word, *paths):
    for path in paths:
        try:
            with open(path) as lines:
                for line in lines:
                    name, _, value = line.partition(" ")
                    if name == word:
                        return int(value)
        except (OSError, ValueError):
            continue
    return -1


def process_parents():
    """Process id to parent id of all that live here, zombies left out."""
    parents = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name, "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] not in (b"Z", b"X"):
            parents[int(name)] = int(fields[1])
    return parents


def descendants():
    children = {}
    for pid, parent in process_parents().items():
        children.setdefault(parent, []).append(pid)
    found, waiting = set(), [os.getpid()]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            found.add(pid)
            waiting.append(pid)
    return found


def send_signal(pid, number):
    try:
        os.kill(pid, number)
    except OSError:
        pass


class Watchdog:
    """Measures the workspace bit by bit beside a command: the more often, the less room is left."""

    def __init__(self, request):
        self.limit_bytes, self.limit_entries = request["disk_bytes"], request["disk_entries"]
        self.threshold = None
        self.used = None
        self.struck = False
        self.due = time.monotonic() if self.limit_bytes else float("inf")
        self.walk = None

    def advance(self):
        """Measures a little; a quarter of the time at most goes into it."""
        begun = time.monotonic()
        if begun < self.due or self.struck:
            return
        self.walk = self.walk or measure(self.threshold[1] if self.threshold else 2 * self.limit_entries)
        result = next(self.walk)
        ended = time.monotonic()
        if result is None:
            self.due = ended + REST * (ended - begun)
            return
        self.walk = None
        self.used = result
        self.judge()
        room = max(0, self.limit_bytes - result[0])
        self.due = ended + max(REST * (ended - begun), min(2, max(0.1, room / WRITE_RATE)))

    def judge(self):
        """A workspace that was full before may be cleaned up; only what grows above the limit is stopped."""
        size, entries = self.used
        if self.threshold is None:
            self.threshold = (max(size, self.limit_bytes), max(entries, self.limit_entries))
        self.struck = size > self.threshold[0] or entries > self.threshold[1]


def measure(enough):
    """
    Bytes on the disk and entries below the workspace, links not followed; yields None until it knows. Goes no further
    when it has met more than `enough` entries.
    """
    size, count, linked, since = 0, 0, set(), time.monotonic()
    stack = []
    try:
        stack.append(open_directory(b".", ROOT_DESCRIPTOR))
    except OSError:
        yield size, count
        return
    try:
        while stack:
            name = next(stack[-1][1], None)
            if name is None or count > enough:
                os.close(stack.pop()[0])
                continue
            count += 1
            if time.monotonic() - since > SLICE_SECONDS:
                yield None
                since = time.monotonic()
            try:
                info = os.stat(name, dir_fd=stack[-1][0], follow_symlinks=False)
                if info.st_nlink > 1 and not stat.S_ISDIR(info.st_mode):
                    if info.st_ino in linked:
                        continue
                    linked.add(info.st_ino)
                size += info.st_blocks * 512
                if stat.S_ISDIR(info.st_mode) and len(stack) < MAX_STACK:
                    stack.append(open_directory(name, stack[-1][0]))
            except OSError:
                continue
        yield size, count
    finally:
        for descriptor, _ in stack:
            os.close(descriptor)


def open_directory(name, parent):
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    return descriptor, iter(os.listdir(descriptor))


def open_start(parts):
    """
    Holds the directory where a command starts. One may have shut the workspace or its home, and others are to work on:
    those two open again.
    """
    try:
        try:
            return enter(parts)
        except PermissionError:
            regain_common()
            return enter(parts)
    except OSError as error:
        raise Fault(word_of(error, "denied")) from None


def enter(parts):
    """Holds a directory that can be entered."""
    held = walk(parts, make_step)
    try:
        os.close(os.open(".", os.O_PATH | os.O_DIRECTORY, dir_fd=held))
    except OSError:
        os.close(held)
        raise
    return held


def regain_common():
    regain(ROOT_DESCRIPTOR)
    try:
        home = peek(ROOT_DESCRIPTOR, b".home")
    except OSError:
        return
    regain(home)
    os.close(home)


class Command:
    def __init__(self, channel, request):
        self.channel, self.request = channel, request
        self.foreground, self.status, self.ended_by = None, None, "exit"
        self.pipes = {}
        self.pending = memoryview(b"")
        self.incoming = b""
        self.until = time.monotonic() + request["timeout_ms"] / 1000
        self.watchdog = Watchdog(request)

    # Starting

    def start(self):
        directory = open_start(encode_parts(self.request))
        out, err = os.pipe(), os.pipe()
        os.set_blocking(out[0], False)
        os.set_blocking(err[0], False)
        self.pipes = {out[0]: STDOUT, err[0]: STDERR}
        try:
            self.foreground = os.fork()
            if self.foreground == 0:
                self.become(directory, out[1], err[1])
        finally:
            for descriptor in (directory, out[1], err[1]):
                os.close(descriptor)

    def become(self, directory, out, err):
        """The child: never returns."""
        code, argv = 126, self.request["argv"]
        try:
            os.setsid()
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            os.dup2(out, 1)
            os.dup2(err, 2)
            os.fchdir(directory)
            os.closerange(3, 4096)
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            # The command gives way to the worker, for the processor and for the memory killer, so that it can be stopped.
            os.nice(5)
            libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
            try:
                with open("/proc/self/oom_score_adj", "w") as file:
                    file.write("800")
            except OSError:
                pass
            os.execvpe(argv[0], argv, self.request["env"])
        except OSError as error:
            code = 127 if error.errno == errno.ENOENT else 126
            os.write(2, ("%s: %s\n" % (argv[0], error.strerror)).encode("utf-8", "replace"))
        finally:
            os._exit(code)

    # Going on

    def run(self):
        before = count_events()
        self.channel.send_json(STARTED, 0, before)
        try:
            self.start()
        except OSError as error:
            self.fail_to_start(error)
            return
        self.pump()
        if self.ended_by == "hangup":
            self.sweep()
            raise Hangup()
        if self.ended_by != "exit":
            self.sweep()
        self.drain()
        left = descendants()
        self.channel.send_json(EXIT, 0, dict(self.result(), leftovers=len(left), disk=self.watchdog.used, **count_events()))
        if left:
            self.linger()

    def fail_to_start(self, error):
        text = "The command could not be started: %s.\n" % error.strerror
        self.channel.send(STDERR, 0, text.encode())
        self.channel.send_json(
            EXIT, 0, dict(code=126, signal=None, by="exit", leftovers=0, disk=None, **count_events())
        )

    def result(self):
        status = self.status
        if status is None:
            return {"code": None, "signal": None, "by": self.ended_by}
        if os.WIFSIGNALED(status):
            return {"code": None, "signal": os.WTERMSIG(status), "by": self.ended_by}
        return {"code": os.WEXITSTATUS(status), "signal": None, "by": self.ended_by}

    def reap(self):
        """Takes the ended children. @returns whether a child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.foreground:
                self.status = status

    def pump(self):
        """Moves output until the foreground process ends or somebody wants the command to end."""
        while True:
            self.reap()
            if self.status is not None or self.ended_by != "exit":
                return
            now = time.monotonic()
            if now >= self.until or self.watchdog.struck:
                self.ended_by = "quota" if self.watchdog.struck else "timeout"
                return
            for descriptor, _ in self.wait(max(0, min(self.until, self.watchdog.due) - now)):
                self.react(descriptor)
            self.watchdog.advance()

    def wait(self, seconds):
        """Nothing is read while the host is not taking what was read before."""
        poll = select.poll()
        poll.register(0, select.POLLIN)
        poll.register(wake_up, select.POLLIN)
        if self.pending:
            poll.register(1, select.POLLOUT)
        else:
            for descriptor in self.pipes:
                poll.register(descriptor, select.POLLIN)
        return poll.poll(min(seconds, 60) * 1000)

    def react(self, descriptor):
        if descriptor == 0:
            self.listen()
        elif descriptor == wake_up:
            os.read(wake_up, 4096)
        elif descriptor == 1:
            self.flush()
        elif not self.pending:
            self.take(descriptor)

    def listen(self):
        """The host says nothing but kill; closing its end means the same."""
        part = os.read(0, 4096)
        self.incoming += part
        if not part:
            self.ended_by = "hangup"
        elif len(self.incoming) >= HEADER.size:
            self.ended_by = "kill"

    def flush(self):
        try:
            self.pending = self.pending[os.write(1, self.pending):]
        except BlockingIOError:
            pass
        except OSError:
            self.ended_by = "hangup"

    def take(self, descriptor):
        try:
            part = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return
        if not part:
            os.close(descriptor)
            del self.pipes[descriptor]
            return
        self.pending = memoryview(HEADER.pack(self.pipes[descriptor], 0, len(part)) + part)
        self.flush()

    # Ending

    def drain(self):
        """
        Sends what is in the pipes by the end of the foreground process, then closes them. Whoever still holds one gets a
        moment to finish, because a shell does not wait for its process substitutions.
        """
        reads, until = DRAIN_READS, time.monotonic() + GRACE_SECONDS
        while self.pipes or self.pending:
            if self.pending:
                self.channel.wait()
                self.flush()
                if self.ended_by == "hangup":
                    raise Hangup()
                continue
            left = until - time.monotonic()
            if left <= 0 or reads == 0:
                break
            reads -= 1
            self.take_ready(left)
        for descriptor in self.pipes:
            os.close(descriptor)
        self.pipes = {}

    def take_ready(self, seconds):
        poll = select.poll()
        for descriptor in self.pipes:
            poll.register(descriptor, select.POLLIN)
        for descriptor, _ in poll.poll(max(1, seconds * 1000)):
            if not self.pending:
                self.take(descriptor)

    def linger(self):
        """Stays the parent of what is left until the host is done with it, then ends it all."""
        poll = select.poll()
        poll.register(0, select.POLLIN)
        poll.register(wake_up, select.POLLIN)
        while self.reap():
            left = min(60, max(0, self.watchdog.due - time.monotonic()))
            ready = dict(poll.poll(left * 1000))
            if wake_up in ready:
                os.read(wake_up, 4096)
            self.watchdog.advance()
            if 0 in ready or self.watchdog.struck:
                self.sweep()
                if descendants():
                    raise Hangup()
                return

    def sweep(self):
        """Freezes all descendants until no new one appears, kills them, and repeats until none is left."""
        if self.status is None and self.foreground is not None:
            try:
                os.killpg(self.foreground, signal.SIGKILL)
            except OSError:
                pass
        until = time.monotonic() + SWEEP_SECONDS
        while self.reap() and time.monotonic() < until:
            frozen, found = set(), descendants()
            while found - frozen:
                for pid in found - frozen:
                    send_signal(pid, signal.SIGSTOP)
                frozen |= found
                found = descendants()
            for pid in frozen:
                send_signal(pid, signal.SIGKILL)
            time.sleep(0.002)


def execute(channel, request):
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        Command(channel, request).run()
    except Fault as fault:
        channel.send_json(FAULT, 0, fault.args[0])


def sweep_user(channel, request):
    """Ends every other process of the box user, other workers included."""
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    until = time.monotonic() + request["timeout_ms"] / 1000
    while True:
        send_signal(-1, signal.SIGKILL)
        left = [pid for pid in process_parents() if pid != os.getpid() and owner_of(pid) == os.geteuid()]
        if not left or time.monotonic() > until:
            break
        time.sleep(0.005)
    channel.send_json(ANSWER, 0, dict(left=len(left), **count_events()))


def owner_of(pid):
    """The owner by the status file: the folder of a process that hides itself belongs to root."""
    try:
        with open("/proc/%d/status" % pid) as lines:
            for line in lines:
                if line.startswith("Uid:"):
                    return int(line.split()[2])
    except OSError:
        pass
    return -1


wake_up, wake_up_write = os.pipe()
os.set_blocking(wake_up, False)
os.set_blocking(wake_up_write, False)
signal.signal(signal.SIGCHLD, lambda number, frame: None)
signal.set_wakeup_fd(wake_up_write, warn_on_full_buffer=False)
serve({"exec": execute, "sweep": sweep_user})

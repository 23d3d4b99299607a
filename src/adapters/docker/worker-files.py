"""File operations of the in-box worker. Needs worker-channel.py before it.

Everything starts from a held descriptor of the workspace and goes component by component, never through a link. What is
read is the very entry that was looked at, reopened through its descriptor.
"""
MAX_DEPTH = 256
MAX_REMOVED = 2000000
BATCH = 200


def each(channel, items, act, otherwise):
    """Runs `act` for every item; a fault of one item is its answer and ends that item only."""
    for index, item in enumerate(items):
        try:
            act(index, item)
        except Fault as fault:
            channel.send_json(FAULT, index, fault.args[0])
        except OSError as error:
            channel.send_json(FAULT, index, word_of(error, otherwise))


def stat_all(channel, request):
    def one(index, item):
        parts = encode_parts(item)
        channel.send_json(ENTRY, index, describe(look(parts)))

    each(channel, request["items"], one, "unreadable")


def look(parts):
    if not parts:
        return os.fstat(ROOT_DESCRIPTOR)
    parent = walk(parts[:-1])
    try:
        descriptor = peek(parent, parts[-1])
    finally:
        os.close(parent)
    try:
        return os.fstat(descriptor)
    finally:
        os.close(descriptor)


# Reading


def read_all(channel, request):
    def one(index, item):
        held = peek_file(encode_parts(item))
        try:
            read_one(channel, index, item, held)
        finally:
            os.close(held)

    each(channel, request["items"], one, "unreadable")


def peek_file(parts):
    if not parts:
        raise Fault("not_regular")
    parent = walk(parts[:-1])
    try:
        held = peek(parent, parts[-1])
    finally:
        os.close(parent)
    info = os.fstat(held)
    if stat.S_ISREG(info.st_mode) and info.st_dev == DEVICE:
        return held
    os.close(held)
    raise Fault("escapes" if stat.S_ISREG(info.st_mode) else "not_regular")


def await_writes(source):
    """A write sets the time when it begins and its bytes come later. Looking for data waits for those that have begun."""
    try:
        os.lseek(source, 0, os.SEEK_DATA)
    except OSError:
        # There is no data.
        pass


def read_one(channel, index, item, held):
    before = os.fstat(held)
    if item.get("version") not in (None, version_of(before)):
        raise Fault("changed")
    source = reopen(held, os.O_RDONLY)
    try:
        channel.send_json(ENTRY, index, describe(before))
        await_writes(source)
        offset, length = item["offset"], item.get("length")
        left = max(0, before.st_size - offset)
        if length is not None:
            left = min(left, length)
        while left:
            part = os.pread(source, min(left, CHUNK), offset)
            if not part:
                raise Fault("changed")
            channel.send(BYTES, index, part)
            offset += len(part)
            left -= len(part)
        if version_of(os.fstat(source)) != version_of(before):
            raise Fault("changed")
        channel.send(FINISHED, index)
    finally:
        os.close(source)


# Writing


class Incoming:
    """The bytes of one file on their way in."""

    def __init__(self, channel, index, size):
        self.channel, self.index, self.left, self.open = channel, index, size, True

    def __iter__(self):
        while self.open:
            kind, index, payload = self.channel.receive()
            if index != self.index or kind not in (DATA, END):
                raise Hangup()
            if kind == END:
                self.open = False
                if self.left != 0:
                    raise Hangup()
                return
            self.left -= len(payload)
            if self.left < 0:
                raise Hangup()
            yield payload

    def drain(self):
        for _ in self:
            pass


def write_all(channel, request):
    def one(index, item):
        incoming = Incoming(channel, index, item["size"])
        try:
            entry = place(incoming, item)
        except (Fault, OSError):
            incoming.drain()
            raise
        channel.send_json(ENTRY, index, entry)

    each(channel, request["items"], one, "denied")


def place(incoming, item):
    parts = encode_parts(item)
    if not parts:
        raise Fault("not_regular")
    parent = walk(parts[:-1], make_step)
    try:
        existing = held_file(parent, parts[-1], item["mode"])
        try:
            if item["mode"] == "append" and existing is not None:
                return append_to(existing, incoming)
            return replace(parent, parts[-1], existing, (incoming, item))
        finally:
            if existing is not None:
                os.close(existing)
    finally:
        os.close(parent)


def held_file(parent, name, mode):
    """The file that stands there now, held; None if there is none."""
    try:
        held = peek(parent, name)
    except FileNotFoundError:
        return None
    info = os.fstat(held)
    fault = None
    if mode == "create":
        fault = "exists"
    elif not stat.S_ISREG(info.st_mode):
        fault = "not_regular"
    elif info.st_dev != DEVICE:
        fault = "escapes"
    if fault is None:
        return held
    os.close(held)
    raise Fault(fault)


def pour(descriptor, incoming):
    for part in incoming:
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(descriptor, rest):]


def append_to(existing, incoming):
    target = reopen(existing, os.O_WRONLY | os.O_APPEND)
    try:
        size = os.fstat(target).st_size
        try:
            pour(target, incoming)
            os.fsync(target)
        except BaseException:
            os.ftruncate(target, size)
            raise
        return describe(os.fstat(target))
    finally:
        os.close(target)


def replace(parent, name, existing, task):
    """Puts the bytes under a hidden name beside the target, then gives them its name in one step."""
    incoming, item = task
    before = None if existing is None else os.fstat(existing)
    require_version(before, item)
    hidden = b".berth-" + os.urandom(12).hex().encode() + b".tmp"
    target = os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY, 0o600, dir_fd=parent)
    try:
        pour(target, incoming)
        os.fchmod(target, item["file_mode"] if before is None else stat.S_IMODE(before.st_mode))
        os.fsync(target)
        if item["mode"] == "create":
            os.link(hidden, name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
        else:
            require_same(parent, name, before)
            os.rename(hidden, name, src_dir_fd=parent, dst_dir_fd=parent)
    finally:
        try:
            os.unlink(hidden, dir_fd=parent)
        except FileNotFoundError:
            pass
        info = os.fstat(target)
        os.close(target)
    return describe(info)


def require_version(before, item):
    wanted = item.get("version")
    if wanted is not None and (before is None or version_of(before) != wanted):
        raise Fault("changed")


def require_same(parent, name, before):
    try:
        info = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        info = None
    if (info is None) != (before is None) or (before and version_of(info) != version_of(before)):
        raise Fault("changed")


# Listing


def list_below(channel, request):
    try:
        truncated = list_tree(channel, request)
    except Fault as fault:
        channel.send_json(FAULT, 0, fault.args[0])
    except OSError as error:
        channel.send_json(FAULT, 0, word_of(error, "unreadable"))
    else:
        channel.send_json(ANSWER, 0, {"truncated": truncated})


def list_tree(channel, request):
    """Breadth first, so that a cut walk has seen the upper levels. Every directory is reached anew from the root."""
    start = encode_parts(request)
    skipped = frozenset(name.encode() for name in request["skip"])
    room, batch, truncated = request["max_entries"], [], False
    waiting = [[]]
    for place in waiting:
        try:
            names, cut = names_in(start + place, room)
        except (Fault, OSError):
            if not place:
                raise
            continue
        truncated = truncated or cut
        for name, info in names:
            is_directory = stat.S_ISDIR(info.st_mode)
            if is_directory and name in skipped:
                continue
            if room == 0:
                truncated = True
                break
            room -= 1
            below = place + [name]
            batch.append(dict(describe(info), names=[part.decode("utf-8", "replace") for part in below]))
            if len(batch) == BATCH:
                channel.send_json(ENTRIES, 0, batch)
                batch = []
            if is_directory and info.st_dev == DEVICE and len(below) < request["depth"]:
                if len(below) < MAX_DEPTH:
                    waiting.append(below)
                else:
                    truncated = True
    channel.send_json(ENTRIES, 0, batch)
    return truncated


def names_in(parts, room):
    """Sorted entries of one directory, at most a few more than there is room for."""
    directory = walk(parts)
    try:
        opened = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=directory)
    finally:
        os.close(directory)
    found, cut = [], False
    try:
        with os.scandir(opened) as entries:
            for entry in entries:
                if len(found) > room + BATCH:
                    cut = True
                    break
                try:
                    found.append((os.fsencode(entry.name), entry.stat(follow_symlinks=False)))
                except FileNotFoundError:
                    continue
    finally:
        os.close(opened)
    return sorted(found, key=lambda pair: pair[0]), cut


# Removing


def remove_all(channel, request):
    def one(index, item):
        parts = encode_parts(item)
        if not parts:
            raise Fault("denied")
        parent = walk(parts[:-1])
        try:
            remove_one(parent, parts[-1], item)
        finally:
            os.close(parent)
        channel.send(FINISHED, index)

    each(channel, request["items"], one, "denied")


def remove_one(parent, name, item):
    held = peek(parent, name)
    try:
        info = os.fstat(held)
        if item.get("version") not in (None, version_of(info)):
            raise Fault("changed")
        if stat.S_ISDIR(info.st_mode):
            if not item["recursive"]:
                raise Fault("not_regular")
            empty(held)
        now = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if (now.st_dev, now.st_ino) != (info.st_dev, info.st_ino):
            raise Fault("changed")
        drop(parent, name, stat.S_ISDIR(info.st_mode))
    finally:
        os.close(held)


def drop(parent, name, is_directory):
    if is_directory:
        os.rmdir(name, dir_fd=parent)
    else:
        os.unlink(name, dir_fd=parent)


def empty(top):
    """Removes everything below a held directory with a bounded number of steps and of open descriptors."""
    steps = 0
    while True:
        names = some_names(top)
        if not names:
            return
        for name in names:
            steps = remove_tree(top, (top, name), (0, steps))


def remove_tree(top, target, state):
    """Removes one entry; what lies too deep is moved up to `top`, to be met there later."""
    parent, name = target
    depth, steps = state
    if steps >= MAX_REMOVED:
        raise Fault("denied")
    try:
        if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=parent)
            return steps + 1
        if depth == 64:
            os.rename(name, b".berth-" + os.urandom(12).hex().encode(), src_dir_fd=parent, dst_dir_fd=top)
            return steps + 1
        held = step(parent, name)
    except FileNotFoundError:
        return steps + 1
    try:
        names = some_names(held)
        while names:
            for below in names:
                steps = remove_tree(top, (held, below), (depth + 1, steps))
            names = some_names(held)
    finally:
        os.close(held)
    os.rmdir(name, dir_fd=parent)
    return steps + 1


def some_names(directory):
    regain(directory)
    opened = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=directory)
    try:
        with os.scandir(opened) as entries:
            return [os.fsencode(entry.name) for entry, _ in zip(entries, range(10000))]
    finally:
        os.close(opened)


def reset_all(channel, request):
    def one(index, item):
        parts = encode_parts(item)
        if not parts:
            raise Fault("denied")
        regain(ROOT_DESCRIPTOR)
        parent = walk(parts[:-1], clear_step)
        try:
            if exists(parent, parts[-1]):
                remove_one(parent, parts[-1], {"recursive": True})
            os.mkdir(parts[-1], 0o755, dir_fd=parent)
        finally:
            os.close(parent)
        channel.send(FINISHED, index)

    each(channel, request["items"], one, "denied")


def exists(parent, name):
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def clear_step(parent, name):
    """
    Like `make_step`, but what is no directory gives way: a box may have put a link there. The box user regains its rights
    on the directory.
    """
    try:
        held = make_step(parent, name)
    except Fault as fault:
        if fault.args[0] == "escapes":
            raise
        os.unlink(name, dir_fd=parent)
        held = make_step(parent, name)
    regain(held)
    return held


serve({
    "stat": stat_all,
    "read": read_all,
    "write": write_all,
    "list": list_below,
    "remove": remove_all,
    "reset": reset_all,
})

"""Proves and measures boxd in a real box: the engine's create bodies come on stdin, the volumes are there.

Prints one line per figure; ends with 1 where something does not hold. Speaks to the engine over its socket by itself.
"""
import http.client
import json
import os
import socket
import statistics
import struct
import sys
import time

from client import *

ENGINE = os.environ.get("DOCKER_SOCKET", "/var/run/docker.sock")
ROUNDS = int(os.environ.get("ROUNDS", "20"))
BOXD = "/opt/berth/boxd"
# What each has left is found by this in its environment or arguments.
PYTHON_FORKER = "import os,time\nwhile True:\n try:\n  os.fork()\n except OSError:\n  time.sleep(0.01)"
VICTIMS = {
    "plain": ["sleep", "1000"],
    "child": ["sh", "-c", "sleep 1000 & wait"],
    "TERM ignored": ["sh", "-c", "trap '' TERM HUP INT; while :; do sleep 1000; done"],
    "setsid": ["sh", "-c", "setsid sleep 1000 & wait"],
    "double fork": ["sh", "-c", "(setsid sh -c 'sleep 1000 & sleep 1001' &) ; sleep 1002"],
    "env -i nohup setsid": ["sh", "-c", "env -i nohup setsid sleep 1000 >/dev/null 2>&1 & wait"],
    "self-stopped": ["sh", "-c", "kill -STOP $$; sleep 1000"],
    "fork bomb": ["python3", "-c", PYTHON_FORKER],
    "kills its supervisor": ["sh", "-c", "sleep 1000 & setsid sleep 1001 & sleep 0.05; kill -KILL $PPID; sleep 1000"],
}


class EngineConnection(http.client.HTTPConnection):
    def __init__(self):
        super().__init__("engine")

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(ENGINE)


def call(method, path, body=None):
    connection = EngineConnection()
    headers = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    if answer.status >= 400:
        raise SystemExit(f"{method} {path}: {answer.status} {text.decode()}")
    return json.loads(text) if text.startswith((b"{", b"[")) else text


class Output:
    """Standard output out of the engine's frames."""

    def __init__(self, file):
        self.file, self.left, self.errors = file, 0, b""

    def read(self, count):
        while self.left == 0:
            head = self.file.read(8)
            if len(head) < 8:
                return b""
            self.left = int.from_bytes(head[4:], "big")
            if head[0] == 2:
                self.errors += self.file.read(self.left)
                self.left = 0
        part = self.file.read(min(count, self.left))
        self.left -= len(part)
        return part


class Sink:
    def __init__(self, connection):
        self.connection = connection

    def write(self, data):
        self.connection.sendall(data)
        return len(data)


def open_exec(container, user, argv, stdin):
    body = {"Cmd": argv, "User": user, "WorkingDir": "/", "Env": ["HOME=/workspace/.home", "LANG=C.UTF-8"],
            "AttachStdin": stdin, "AttachStdout": True, "AttachStderr": True, "Tty": False}
    identity = call("POST", f"/containers/{container}/exec", body)["Id"]
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(ENGINE)
    start = json.dumps({"Detach": False, "Tty": False}).encode()
    connection.sendall(f"POST /exec/{identity}/start HTTP/1.1\r\nHost: engine\r\nContent-Type: application/json\r\nConnection: "
                       f"Upgrade\r\nUpgrade: tcp\r\nContent-Length: {len(start)}\r\n\r\n".encode() + start)
    file = connection.makefile("rb", buffering=1 << 18)
    while file.readline() not in (b"\r\n", b""):
        pass
    return connection, file, identity


class BoxClient(Client):
    def __init__(self, container, user):
        self.connection, file, self.exec = open_exec(container, user, [BOXD, "serve"], True)
        self.start(Output(file), Sink(self.connection))

    def close(self):
        self.connection.shutdown(socket.SHUT_WR)
        self.thread.join(LIMIT)
        self.connection.close()
        return call("GET", f"/exec/{self.exec}/json")["ExitCode"]


def plain_exec(container, user, argv):
    connection, file, _ = open_exec(container, user, argv, False)
    out, output = b"", Output(file)
    while part := output.read(65536):
        out += part
    connection.close()
    return out


def milliseconds(rounds, act):
    taken = []
    for _ in range(rounds):
        begin = time.perf_counter()
        act()
        taken.append((time.perf_counter() - begin) * 1000)
    taken.sort()
    return f"p50 {statistics.median(taken):.2f} ms, p95 {taken[int(len(taken) * 0.95) - 1]:.2f} ms ({rounds} times)"


def say(text):
    print(text, flush=True)


def memory_of(client, container, user):
    text = plain_exec(container, user, ["cat", f"/proc/{client.pid}/status"]).decode()
    return {name: text.split(f"{name}:")[1].split()[0] for name in ("VmRSS", "VmHWM")}


def kill_victims(client, environment):
    """@returns what did not hold"""
    complaints = []
    for name, argv in VICTIMS.items():
        times, fates = [], collections.Counter()
        for _ in range(ROUNDS):
            victim = client.spawn(argv, env=environment)
            time.sleep(0.6 if name == "fork bomb" else 0.15)
            peak = len(client.processes())
            begin = time.perf_counter()
            victim.kill()
            try:
                done, _, _ = client.until_exit(victim)
                _, status = victim.rest()
            except queue.Empty:
                complaints.append(f"{name}: no answer")
                break
            times.append(time.perf_counter() - begin)
            fates[(done.by, status)] += 1
            left = client.processes()
            if left or done.leftovers:
                complaints.append(f"{name}: left {left}, {done.leftovers}")
        say(f"kill {name} × {len(times)}: slowest {max(times) * 1000:.0f} ms, median {statistics.median(times) * 1000:.0f} ms, "
            f"up to {peak} processes, ends {dict(fates)}")
        if max(times) >= 2:
            complaints.append(f"{name}: took {max(times):.1f} s")
    return complaints


def measure(client, container, user, environment):
    say("spawn true over the channel: " + milliseconds(300, lambda: client.run(["/bin/true"], env=environment)))
    say("true by a plain engine exec: " + milliseconds(20, lambda: plain_exec(container, user, ["/bin/true"])))
    say("ping: " + milliseconds(300, client.ping))
    content, numbers = os.urandom(1024), iter(range(10**6))
    say("write 1 KB: " + milliseconds(200, lambda: client.write_files((f"m/{next(numbers)}", CREATE, content))))
    say("read 1 KB: " + milliseconds(200, lambda: client.read_files("m/0")))
    say("stat: " + milliseconds(200, lambda: client.stat("m/0")))
    client.remove(("m", "", True))

    total = 100_000_000
    begin = time.perf_counter()
    command = client.spawn(["/usr/bin/head", "-c", str(total), "/dev/zero"], env=environment, window=1 << 20)
    got = 0
    while (one := command.next()).type != B_EXIT:
        if one.type == B_STDOUT:
            got += len(one.payload)
            command.credit(len(one.payload) + 12)
    command.rest()
    taken = time.perf_counter() - begin
    memory = memory_of(client, container, user)
    say(f"{got / 1e6:.0f} MB of output: {taken:.2f} s, {got / taken / 1e6:.0f} MB/s; boxd afterwards {memory}")
    return [] if got == total and int(memory["VmHWM"]) < 2048 else [f"output: {got} bytes, {memory}"]


def prepare(body):
    container = call("POST", "/containers/create", body)["Id"]
    call("POST", f"/containers/{container}/start")
    call("POST", f"/containers/{container}/wait")
    call("DELETE", f"/containers/{container}?force=1")


def run_out_of_memory(client, environment):
    """@returns what did not hold"""
    hog = ["python3", "-c", "x = []\nwhile True: x.append(bytearray(1 << 20))"]
    done, _, _, _ = client.run(hog, env=environment)
    client.ping()
    say(f"out of memory: ended {done.ended} with {done.value}, memory kills {done.memory}, flags {done.flags}")
    is_right = (done.by, done.ended, done.value, done.flags & 1) == (0, 2, 9, 1)
    return [] if is_right else [f"out of memory: {done}"]


def sweep(client, container, user, environment):
    """A command ends everything of its user. @returns what did not hold"""
    call_ = client.spawn(["sh", "-c", "setsid sleep 1000 & kill -KILL -1"], env=environment)
    try:
        client.until_exit(call_)
        return ["sweep: boxd lives"]
    except Lost:
        pass
    client.close()
    fresh = BoxClient(container, user)
    left = fresh.processes()
    say(f"after kill -9 -1 by a command: a new boxd, processes left {left}")
    fresh.close()
    return [f"sweep: left {left}"] if left else []


def main():
    bodies = json.load(sys.stdin)
    body = bodies["box"]
    user = f"{body['Labels']['berth.uid']}:{body['Labels']['berth.uid']}"
    environment = {"PATH": os.defpath + ":/usr/local/bin", "HOME": "/workspace/.home"}
    prepare(bodies["preparation"])
    container = call("POST", "/containers/create", body)["Id"]
    try:
        call("POST", f"/containers/{container}/start")
        client = BoxClient(container, user)
        say(f"boxd {client.version}, features {client.features}, idle {memory_of(client, container, user)}")
        shown = client.run(["sh", "-c", "tty; stty size"], env=environment, tty=(40, 120))[1]
        say(f"a terminal: {shown}")
        complaints = [] if shown.endswith(b"\r\n40 120\r\n") else ["no terminal"]
        complaints += measure(client, container, user, environment)
        complaints += kill_victims(client, environment)
        complaints += run_out_of_memory(client, environment)
        # All processes of the box: docker-init, the holder, boxd and this very look. A zombie would be one more.
        states = plain_exec(container, user, ["sh", "-c", "cat /proc/[0-9]*/stat"]).decode().splitlines()
        rest = [line for line in states if line.split()[2] == "Z" or line.split()[1] not in
                ("(docker-init)", "(boxd)", "(sleep)", "(sh)", "(cat)")]
        say(f"processes afterwards: {[' '.join(line.split()[:3]) for line in states]}")
        complaints += [f"left over: {rest}"] if rest else []
        code = client.close()
        say(f"boxd ended with {code} when the channel was closed")
        complaints += [f"exit {code}"] if code != 0 else []
        complaints += sweep(BoxClient(container, user), container, user, environment)
    finally:
        call("DELETE", f"/containers/{container}?force=1")
    for complaint in complaints:
        say(f"DOES NOT HOLD: {complaint}")
    sys.exit(1 if complaints else 0)


main()

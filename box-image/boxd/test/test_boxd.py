"""What boxd promises, tested on the real binary: BOXD names it, BOXD_ARGUMENTS adds flags of `serve`."""
import contextlib
import io
import json
import os
import random
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tarfile
import sys
import tempfile
import threading
import time
import unittest

import forged_archives
from client import *

BOXD = os.environ["BOXD"]
ARGUMENTS = os.environ.get("BOXD_ARGUMENTS", "").split()
IS_CHECKED = "checked" in BOXD
# Not as root, for whom no file is unreadable.
USER = 65534 if os.geteuid() == 0 else None
AS_USER = {} if USER is None else {"user": USER, "group": USER, "extra_groups": []}


def alive(token):
    """Processes that carry the token in their environment. Only their own user can see that everywhere."""
    found = subprocess.run(["/bin/sh", "-c", "grep -a -l -- \"$0\" /proc/[0-9]*/environ 2>/dev/null", token], capture_output=True,
                           env={"PATH": os.defpath}, cwd="/", **AS_USER)
    return [int(line.split("/")[2]) for line in found.stdout.decode().split()]


def children(pid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                if int(fields[1]) == pid:
                    found.append((int(name), fields[0].decode()))
            except OSError:
                pass
    return found


class Box(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="boxd-")
        if USER is not None:
            os.chown(self.root, USER, USER)
        self.token = f"TOKEN{random.getrandbits(64):x}"
        self.client = self.connect()

    def connect(self, **options):
        return Client([BOXD, "serve", "--root", self.root, *ARGUMENTS], user=USER, **options)

    def tearDown(self):
        if self.client.process.poll() is None:
            self.assertEqual(self.client.close(), (0, b""))
        self.client.close()
        self.assertEqual(self.client.strange, [])
        shutil.rmtree(self.root, ignore_errors=True)

    def at(self, path):
        return os.path.join(self.root, path)

    def modes(self, *paths):
        return ["%o" % stat.S_IMODE(os.stat(self.at(path)).st_mode) for path in paths]

    def put(self, path, content=b"", mode=None):
        os.makedirs(os.path.dirname(self.at(path)), exist_ok=True)
        with open(self.at(path), "wb") as file:
            file.write(content)
        if mode is not None:
            os.chmod(self.at(path), mode)
        if USER is not None:
            for place, folders, files in os.walk(self.root):
                for name in [place, *(os.path.join(place, one) for one in folders + files)]:
                    os.lchown(name, USER, USER)

    def env(self, **more):
        return {"PATH": os.defpath, "TOKEN": self.token, **more}

    def eventually(self, rule, seconds=5):
        until = time.monotonic() + seconds
        while not rule():
            self.assertLess(time.monotonic(), until, "did not come true")
            time.sleep(0.005)


class Channel(Box):
    def test_greets_with_its_version_and_limits(self):
        self.assertEqual((self.client.protocol, self.client.max_commands, self.client.max_requests), (1, 64, 64))
        self.assertEqual(self.client.uid, USER if USER is not None else os.getuid())

    def test_answers_pings_with_their_payload(self):
        for payload in (b"", b"x" * 256):
            self.client.ping(payload)

    def test_ends_cleanly_when_the_host_goes_away(self):
        self.assertEqual(self.client.close(), (0, b""))

    def test_stays_answerable_while_a_command_floods(self):
        call = self.client.spawn(["/bin/sh", "-c", "yes"], window=100000)
        time.sleep(0.1)
        begin = time.monotonic()
        self.client.ping()
        self.client.run(["/bin/true"])
        self.assertLess(time.monotonic() - begin, 2)
        call.kill(flags=1)
        self.client.until_exit(call)

    def test_dials_out_to_a_socket(self):
        self.client.close()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.at("s"))
            os.chmod(self.at("s"), 0o777)
            listener.listen()
            process = subprocess.Popen([BOXD, "serve", "--dial", self.at("s"), "--root", self.root, *ARGUMENTS],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env={**os.environ, "BOXD_TOKEN": "secret-token"})
            connection, _ = listener.accept()
            self.assertEqual(connection.recv(12, socket.MSG_WAITALL), b"secret-token")
            with open(f"/proc/{process.pid}/environ", "rb") as environment:
                self.assertNotIn(b"secret-token", environment.read())
            other = object.__new__(Client)
            other.process = process
            stream = connection.makefile("rwb", buffering=0)
            other.start(stream, stream)
            self.assertEqual(other.run(["/bin/echo", "hi"])[1], b"hi\n")
            connection.shutdown(socket.SHUT_RDWR)
            stream.close()
            connection.close()
            self.assertEqual(process.wait(10), 0)
            process.stdin.close()
            process.stdout.close()
            process.stderr.close()

    def broken(self, data, greet=True):
        client = self.connect(greet=greet)
        try:
            client.send(data)
        except BrokenPipeError:
            pass
        code = client.process.wait(10)
        self.assertEqual((code, client.close()[1]), (76, b""), data[:40])
        errors = []
        while True:
            try:
                errors.append(client.channel.next())
            except Lost:
                break
        self.assertEqual(errors[-1].type, B_ERROR)

    def test_ends_with_an_error_on_every_kind_of_broken_frame(self):
        window = struct.pack("<I", 1)
        cases = [
            struct.pack("<IIBBH", 65537, 0, PING, 0, 0),
            struct.pack("<IIBBH", 0xFFFFFFFF, 1, DATA, 0, 0),
            struct.pack("<IIBBH", 0, 0, 0, 0, 0),
            struct.pack("<IIBBH", 0, 0, 0x0A, 0, 0),
            struct.pack("<IIBBH", 0, 0, 0x81, 0, 0),
            struct.pack("<IIBBH", 0, 0, 0xFF, 0, 0),
            struct.pack("<IIBBH", 0, 0, PING, 1, 0),
            struct.pack("<IIBBH", 0, 0, PING, 2, 0),
            struct.pack("<IIBBH", 0, 0, PING, 0, 1),
            frame(PING, 0, b"x" * 257),
            frame(PING, 1),
            frame(HELLO, 0, struct.pack("<HH", 1, 1) + string("again")),
            frame(STAT, 0, window + group([])),
            frame(STAT, 1, b""),
            frame(STAT, 1, window),
            frame(STAT, 1, window + struct.pack("<I", 0xFFFFFFFF)),
            frame(STAT, 1, window + group([]) + b"x"),
            frame(STAT, 1, window + group([string("a\0b")])),
            frame(STAT, 1, window + group([struct.pack("<I", 0xFFFFFFFF)])),
            frame(SPAWN, 1, spawn_body([])),
            frame(SPAWN, 1, spawn_body([""])),
            frame(SPAWN, 1, spawn_body(["true"], limits=[(9, 1)])),
            frame(SPAWN, 1, spawn_body(["a\0b"])),
            frame(CREDIT, 1, b"\2\1\0\0\0"),
            frame(CREDIT, 1, b""),
            frame(KILL, 1, b"\0\0"),
            frame(KILL, 1, b"\3\0"),
            frame(KILL, 1, b"\2\2"),
            frame(SIGNAL, 1, b"\0"),
            frame(SIGNAL, 1, b"\xff"),
            frame(RESIZE, 1, b"\0"),
            frame(CANCEL, 1, b"x"),
            frame(END, 1, b"x"),
            frame(USAGE, 1, b"x"),
            frame(RELAY, 1, b""),
            frame(RELAY, 0, struct.pack("<IIH", 1, 1, 0)),
            frame(RELAY, 1, struct.pack("<IIH", 1, 1, 0)) * 2,
            frame(STAT, 1, b"", 1) + frame(PING, 0),
            frame(STAT, 1, b"", 1) + frame(STAT, 2, b""),
            b"".join(frame(STAT, 1, b"x" * 65536, 1) for _ in range(17)),
            frame(SPAWN, 1, spawn_body(["sleep", "9"])) * 2,
            frame(SPAWN, 1, spawn_body(["sleep", "9"], stdin=True)) + frame(DATA, 1, b"x" * 65536) * 16,
        ]
        for case in cases:
            with self.subTest(case[:60]):
                self.broken(case)
        self.broken(frame(PING), greet=False)
        self.broken(frame(HELLO, 0, struct.pack("<HH", 2, 3) + string("new")), greet=False)
        self.broken(frame(HELLO, 0, struct.pack("<HH", 1, 1)), greet=False)

    def test_ignores_what_is_meant_for_a_request_that_ended(self):
        for kind, payload in ((DATA, b"x"), (END, b""), (CREDIT, b"\0\1\0\0\0"), (CANCEL, b""), (KILL, b"\2\0"),
                              (SIGNAL, b"\1"), (RESIZE, b"\1\0\1\0")):
            self.client.send(frame(kind, 4711, payload))
        self.client.ping()

    def test_takes_frames_cut_anywhere(self):
        self.client.request(STAT, struct.pack("<I", GENEROUS) + group([string("")]))
        body = struct.pack("<I", GENEROUS) + group([string("")])
        with self.client.lock:
            self.client.identity += 1
            call = self.client.calls[self.client.identity] = Call(self.client, self.client.identity)
        for byte in frame(STAT, call.id, body):
            self.client.send(bytes([byte]))
            time.sleep(0.001)
        self.assertEqual(self.client.answers(call)[0].kind, 1)

    def test_leaves_no_descriptor_open(self):
        def count():
            return len(os.listdir(f"/proc/{self.client.pid}/fd"))
        self.client.sh("true")
        before = count()
        for _ in range(30):
            self.client.sh("echo x")
            self.client.write_files(("f", OVERWRITE, b"x"))
            self.client.read_files("f", "nothing")
        call = self.client.spawn(["/bin/cat"], stdin=True)
        call.data(b"x")
        call.end()
        self.client.collect(call)
        self.client.run(["/bin/true"], tty=(24, 80))
        self.assertEqual(count(), before)

    def test_refuses_what_its_tables_cannot_hold_and_recovers(self):
        calls = [self.client.spawn(["/bin/sleep", "100"]) for _ in range(65)]
        frames, status = calls[64].rest()
        self.assertEqual((status, frames[0].payload), (3, struct.pack("<I", WHOLE) + string("busy")))
        for call in calls[:64]:
            call.kill()
        for call in calls[:64]:
            self.client.collect(call)
        self.assertEqual(self.client.sh("echo x")[1], b"x\n")

    def test_serves_many_at_once_without_mixing_them(self):
        calls = [self.client.spawn(["/bin/sh", "-c", f"for i in 1 2 3; do echo {n}; sleep 0.0{n % 9}; done"])
                 for n in range(30)]
        for n, call in enumerate(calls):
            self.assertEqual(self.client.collect(call)[1], f"{n}\n".encode() * 3)

    def test_is_small_when_idle(self):
        if IS_CHECKED:
            self.skipTest("sanitizers take memory")
        with open(f"/proc/{self.client.pid}/status") as status:
            resident = int(status.read().split("VmRSS:")[1].split()[0])
        self.assertLess(resident, 1024)


class Commands(Box):
    def test_gives_output_apart_and_exact(self):
        content = bytes(range(256)) * 3
        self.put("bytes", content)
        exit, out, error, _ = self.client.sh("cat bytes; cat bytes bytes >&2; exit 7")
        self.assertEqual((out, error, exit.ended, exit.value, exit.by), (content, content * 2, 1, 7, 0))

    def test_tells_signals_apart_from_codes(self):
        exit = self.client.sh("kill -SEGV $$")[0]
        self.assertEqual((exit.by, exit.ended, exit.value), (0, 2, signal.SIGSEGV))

    def test_measures(self):
        exit = self.client.sh("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.1")[0]
        self.assertGreater(exit.ended_at - exit.started, 100_000_000)
        self.assertGreater(exit.user, 0)
        self.assertGreater(exit.rss, 100_000)

    def test_speaks_like_a_shell_about_programs_that_cannot_be_run(self):
        exit, _, error, _ = self.client.run(["no-such-program"])
        self.assertEqual((exit.value, error), (127, b"boxd: no-such-program: not found\n"))
        self.put("plain", b"x", 0o644)
        exit, _, error, _ = self.client.run(["./plain"])
        self.assertEqual((exit.value, error), (126, b"boxd: ./plain: Permission denied\n"))
        exit, _, error, _ = self.client.run(["/bin/echo", "x" * 200000])
        self.assertEqual((exit.value, error), (126, b"boxd: /bin/echo: Argument list too long\n"))

    def test_finds_programs_by_the_path_of_the_command(self):
        self.put("bin/hello", b"#!/bin/sh\necho hello\n", 0o755)
        self.assertEqual(self.client.run(["hello"], env={"PATH": "/nowhere:" + self.at("bin")})[1], b"hello\n")

    def test_passes_arguments_and_environment_exactly(self):
        odd = ["a b", "", "'\"$x`", "\n", "é", "-n"]
        self.assertEqual(self.client.run(["/usr/bin/printf", "%s|", *odd])[1], ("|".join(odd) + "|").encode())
        self.assertEqual(self.client.run(["/usr/bin/env"], env={"A": "1\n2"})[1], b"A=1\n2\n")

    def test_takes_long_requests_in_parts(self):
        arguments = ["x" * 100_000] * 5
        self.assertEqual(len(self.client.run(["/bin/echo", *arguments])[1]), 5 * 100_001)

    def test_makes_the_working_directory_but_follows_no_link(self):
        self.assertEqual(self.client.run(["/bin/pwd"], cwd="new/deep")[1], self.at("new/deep\n").encode())
        os.symlink("/tmp", self.at("link"))
        self.put("file")
        for cwd, word in (("link", "symlink_component"), ("link/x", "symlink_component"), ("file", "not_directory"),
                          ("..", "escapes"), ("a/../b", "escapes"), ("/tmp", "bad_path"), ("a//b", "bad_path")):
            frames, status = self.client.spawn(["/bin/true"], cwd=cwd).rest()
            self.assertEqual((status, frames), (3, [Frame(B_FAULT, frames[0].id, struct.pack("<I", WHOLE) + string(word))]))

    def test_starts_in_a_workspace_or_a_home_that_a_command_shut(self):
        self.put(".home/x")
        for command, cwd in (("chmod 0 .", ""), ("chmod 0 .home .", ".home"), ("chmod 0 .home", ".home/new")):
            with self.subTest(command):
                self.assertEqual(self.client.sh(command)[0].value, 0)
                self.assertEqual(self.client.run(["/bin/pwd"], cwd=cwd)[1].decode().strip(), self.at(cwd).rstrip("/"))
        self.assertEqual(self.modes("", ".home"), ["700", "700"])

    def test_starts_in_no_other_directory_that_was_shut(self):
        self.put("shut/x")
        self.assertEqual(self.client.sh("chmod 0 shut")[0].value, 0)
        for cwd in ("shut", "shut/below"):
            frames, status = self.client.spawn(["/bin/true"], cwd=cwd).rest()
            self.assertEqual((status, frames), (3, [Frame(B_FAULT, frames[0].id, struct.pack("<I", WHOLE) + string("denied"))]))
        self.assertEqual(self.modes("shut"), ["0"])

    def test_has_no_input_unless_asked_for(self):
        self.assertEqual(self.client.run(["/bin/cat"])[1], b"")

    def test_streams_input_with_its_end(self):
        content = os.urandom(1_000_000)
        call = self.client.spawn(["/bin/cat"], stdin=True)
        feeder = threading.Thread(target=lambda: (call.data(content), call.end()))
        feeder.start()
        exit, out, _, _ = self.client.collect(call)
        feeder.join()
        self.assertEqual((exit.value, out == content), (0, True))

    def test_an_input_that_nobody_reads_blocks_nobody_else(self):
        call = self.client.spawn(["/bin/sleep", "100"], stdin=True)
        sent = 0
        while call.window >= 60012:
            call.data(b"x" * 60000)
            sent += 60000
            time.sleep(0.05)
        self.assertLess(sent, 1_000_000)
        self.assertEqual(self.client.sh("echo free")[1], b"free\n")
        call.kill()
        self.client.collect(call)

    def test_an_input_whose_reader_left_swallows_the_rest(self):
        call = self.client.spawn(["/bin/sh", "-c", "exec <&-; sleep 0.3"], stdin=True)
        for _ in range(20):
            call.data(b"x" * 65536)
        self.client.collect(call)

    def test_holds_back_output_without_credit_and_loses_none(self):
        call = self.client.spawn(["/bin/sh", "-c", "head -c 500000 /dev/zero; echo done >&2"], window=10_000)
        time.sleep(0.3)
        got = 0
        while not call.frames.empty():
            one = call.next()
            got += len(one.payload) + 12 if one.type == B_STDOUT else 0
        self.assertGreater(got, 0)
        self.assertLess(got, 10_000 + 65548)
        call.credit(GENEROUS)
        exit, out, error, _ = self.client.collect(call)
        self.assertEqual(exit.value, 0)
        self.assertEqual(error, b"done\n")

    def test_credit_is_per_stream(self):
        call = self.client.spawn(["/bin/sh", "-c", "head -c 300000 /dev/zero & echo x >&2; wait"], window=1)
        self.assertEqual([call.next().type for _ in range(3)].count(B_STDERR), 1)
        call.credit(GENEROUS, 0)
        exit, out, _, _ = self.client.collect(call)
        self.assertEqual(exit.value, 0)

    def test_every_byte_of_a_flood_arrives(self):
        total = 20_000_000
        exit, out, _, _ = self.client.sh(f"head -c {total} /dev/zero")
        self.assertEqual((len(out), exit.value), (total, 0))

    def test_answers_at_the_end_of_the_foreground_whatever_holds_its_output(self):
        begin = time.monotonic()
        call = self.client.spawn(["/bin/sh", "-c", "sleep 100 & echo early"], env=self.env())
        exit, out, _ = self.client.until_exit(call)
        self.assertLess(time.monotonic() - begin, 1)
        self.assertEqual((out, exit.leftovers, exit.flags), (b"early\n", 1, 2))
        self.assertEqual(len(alive(self.token)), 1)
        call.kill()
        self.assertEqual(call.rest(), ([], 0))
        self.assertEqual(alive(self.token), [])

    def test_cuts_off_leftovers_that_flood(self):
        begin = time.monotonic()
        call = self.client.spawn(["/bin/sh", "-c", "yes & exit 0"], env=self.env())
        exit, out, _ = self.client.until_exit(call)
        self.assertLess(time.monotonic() - begin, 2)
        call.kill()
        call.rest()
        self.assertEqual(alive(self.token), [])

    def test_ends_a_request_when_its_leftovers_end_by_themselves(self):
        call = self.client.spawn(["/bin/sh", "-c", "sleep 0.3 & exit 4"])
        exit, _, _ = self.client.until_exit(call)
        self.assertEqual((exit.value, exit.leftovers), (4, 1))
        self.assertEqual(call.rest(), ([], 0))

    def test_waits_for_what_a_shell_does_not_wait_for(self):
        self.assertEqual(self.client.sh("(sleep 0.03; echo late) & echo early")[1], b"early\nlate\n")

    def test_keeps_a_time_limit_by_itself(self):
        begin = time.monotonic()
        exit, out, _, _ = self.client.sh("echo x; sleep 100", timeout_ms=200, env=self.env())
        self.assertLess(time.monotonic() - begin, 2)
        self.assertEqual((exit.by, out, alive(self.token)), (2, b"x\n", []))

    def test_sets_limits(self):
        exit, out, error, _ = self.client.sh("ulimit -n; ulimit -f; head -c 5000 /dev/zero > big", limits=[(3, 100), (2, 1024)])
        self.assertEqual(out, b"100\n2\n")
        self.assertEqual(os.stat(self.at("big")).st_size, 1024)

    def test_asks_a_tree_to_end(self):
        call = self.client.spawn(["/bin/sh", "-c", "trap 'echo bye; exit 5' TERM; echo on; while :; do sleep 0.05; done"])
        while call.next().type != B_STDOUT:
            pass
        call.kill(mode=1)
        exit, out, _, _ = self.client.collect(call)
        self.assertEqual((exit.by, exit.value, out), (0, 5, b"bye\n"))

    def test_passes_signals_to_the_foreground(self):
        call = self.client.spawn(["/bin/sh", "-c", "trap 'echo usr1; exit 6' USR1; echo on; while :; do sleep 0.05; done"])
        while call.next().type != B_STDOUT:
            pass
        call.say(SIGNAL, bytes([signal.SIGUSR1]))
        exit, out, _, _ = self.client.collect(call)
        self.assertEqual((exit.value, out), (6, b"usr1\n"))

    def test_cancel_ends_the_tree_and_drops_output(self):
        call = self.client.spawn(["/bin/sh", "-c", "yes"], window=1)
        time.sleep(0.1)
        call.say(CANCEL)
        exit, out, _, status = self.client.collect(call)
        self.assertEqual((exit.by, status), (1, 0))
        self.assertLess(len(out), 70_000)

    def test_hides_its_own_descriptors_and_state_from_commands(self):
        exit, out, _, _ = self.client.sh("ls /proc/self/fd | wc -l; grep -E '^Sig(Blk|Ign)' /proc/self/status; umask")
        lines = out.decode().split("\n")
        # 0, 1, 2 and the listing itself
        self.assertEqual((lines[0], lines[1:3], lines[3]), ("4", ["SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"], "0022"))
        exit, out, error, _ = self.client.sh(f"cat /proc/{self.client.pid}/environ; ls /proc/{self.client.pid}/fd; "
                                             "ls /proc/$PPID/fd; cat /proc/$PPID/mem")
        self.assertEqual((out, error.count(b"denied")), (b"", 4))

    def test_a_terminal_is_one(self):
        exit, out, _, _ = self.client.run(["/bin/sh", "-c", "tty; stty size; ps -o stat= -p $$ >/dev/null; exit 3"], tty=(31, 97))
        self.assertEqual(exit.value, 3)
        self.assertRegex(out.decode(), r"^/dev/pts/\d+\r\n31 97\r\n$")

    def test_a_terminal_takes_input_size_and_signals(self):
        call = self.client.spawn(["/bin/sh", "-c", "stty -echo; echo on; read line; echo got $line; stty size; cat; "
                                  "trap 'echo int; exit 9' INT; echo loop; while :; do sleep 0.05; done"], tty=(24, 80))
        def until(text):
            seen = b""
            while text not in seen:
                one = call.next()
                seen += one.payload if one.type == B_STDOUT else b""
        until(b"on\r\n")
        call.say(RESIZE, struct.pack("<HH", 40, 100))
        call.data(b"word\n")
        until(b"got word\r\n40 100\r\n")
        call.data(b"abc\n\x04")
        until(b"abc\r\nloop\r\n")
        call.say(SIGNAL, bytes([signal.SIGINT]))
        exit, out, _, _ = self.client.collect(call)
        self.assertEqual((exit.value, out), (9, b"int\r\n"))

    def test_survives_floods_of_small_commands(self):
        calls = [self.client.spawn(["/bin/true"]) for _ in range(50)]
        for call in calls:
            self.assertEqual(self.client.collect(call)[0].value, 0)
        self.eventually(lambda: children(self.client.pid) == [])


VICTIMS = {
    "plain": ["/bin/sleep", "1000"],
    "child": ["/bin/sh", "-c", "sleep 1000 & wait"],
    "term ignored": ["/bin/sh", "-c", "trap '' TERM HUP INT; while :; do sleep 1000; done"],
    "new session": ["/bin/sh", "-c", "setsid sleep 1000 & wait"],
    "double fork": ["/bin/sh", "-c", "(setsid sh -c 'sleep 1000 & sleep 1001' &) ; sleep 1002"],
    "without environment": ["/bin/sh", "-c", "env -i nohup setsid sleep 1000 >/dev/null 2>&1 & wait"],
    "self-stopped": ["/bin/sh", "-c", "kill -STOP $$; sleep 1000"],
    "forking": ["/bin/sh", "-c", "n=0; while [ $n -lt 60 ]; do (while :; do (:) & wait; done) & n=$((n+1)); done; wait"],
    "killing its supervisor": ["/bin/sh", "-c", "sleep 1000 & setsid sleep 1001 & kill -KILL $PPID; sleep 1000"],
    "stopping its supervisor": ["/bin/sh", "-c", "sleep 1000 & kill -STOP $PPID; sleep 1000"],
}


class Kills(Box):
    def test_leaves_nothing_of_any_victim(self):
        for name, argv in VICTIMS.items():
            with self.subTest(name):
                call = self.client.spawn(argv, env=self.env())
                time.sleep(0.3)
                begin = time.monotonic()
                call.kill()
                exit, _, _ = self.client.until_exit(call)
                _, status = call.rest()
                self.assertLess(time.monotonic() - begin, 2)
                self.assertEqual(exit.leftovers, 0)
                expected = (3, 2) if "killing" in name else (1, 0)
                self.assertEqual((exit.by, status), expected)
                self.assertEqual(alive(self.token), [])
                self.assertEqual(children(self.client.pid), [])

    def test_ends_with_the_host(self):
        for argv in VICTIMS.values():
            self.client.spawn(argv, env=self.env())
        time.sleep(0.3)
        begin = time.monotonic()
        self.assertEqual(self.client.close()[0], 0)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual(alive(self.token), [])

    def test_ends_with_a_broken_channel(self):
        self.client.spawn(["/bin/sh", "-c", "setsid sleep 1000 & sleep 1000"], env=self.env())
        time.sleep(0.2)
        self.client.send(b"\xff" * 12)
        self.assertEqual(self.client.process.wait(10), 76)
        self.assertEqual(alive(self.token), [])

    def test_ends_with_the_server(self):
        self.client.spawn(["/bin/sh", "-c", "setsid sleep 1000 & sleep 1000"], env=self.env())
        time.sleep(0.2)
        os.kill(self.client.pid, signal.SIGKILL)
        self.eventually(lambda: alive(self.token) == [])
        self.client.process.wait(5)

    def test_spares_other_commands(self):
        neighbour = self.client.spawn(["/bin/sh", "-c", "sleep 0.5; echo here"])
        victims = [self.client.spawn(VICTIMS["killing its supervisor"], env=self.env()) for _ in range(5)]
        for call in victims:
            exit, _, _, status = self.client.collect(call)
            self.assertEqual((exit.by, status), (3, 2))
        self.assertEqual(alive(self.token), [])
        exit, out, _, status = self.client.collect(neighbour)
        self.assertEqual((exit.value, out, status), (0, b"here\n", 0))

    def test_clears_up_when_the_owner_of_leftovers_is_killed(self):
        call = self.client.spawn(["/bin/sh", "-c", "(sleep 0.2; kill -KILL $PPID) & setsid sleep 1000 & exit 0"], env=self.env())
        exit, _, _ = self.client.until_exit(call)
        self.assertEqual(exit.by, 0)
        self.assertEqual(call.rest(), ([], 2))
        self.assertEqual(alive(self.token), [])

    def test_two_kills_are_one(self):
        call = self.client.spawn(["/bin/sleep", "100"])
        call.kill()
        call.kill()
        self.assertEqual(self.client.collect(call)[0].by, 1)


class Files(Box):
    def test_tells_what_is_there(self):
        self.put("a/file", b"12345", 0o640)
        os.symlink("file", self.at("a/link"))
        os.mkfifo(self.at("a/fifo"))
        file, folder, link, fifo, root, none = self.client.stat("a/file", "a", "a/link", "a/fifo", "", "a/none")
        info = os.stat(self.at("a/file"))
        self.assertEqual(file, Entry(0, 1, 0o640, 1, 5, info.st_mtime_ns // 1000000,
                                     f"{info.st_dev}.{info.st_ino}.5.{info.st_mtime_ns}.{info.st_ctime_ns}"))
        self.assertEqual((folder.kind, link.kind, fifo.kind, root.kind, none), (1, 2, 3, 1, "not_found"))

    def test_no_path_leads_out(self):
        self.put("file")
        os.symlink("/", self.at("out"))
        os.symlink("/proc/self/root", self.at("magic"))
        os.symlink("out", self.at("chain"))
        os.symlink("loop", self.at("loop"))
        cases = {"..": "escapes", "a/../..": "escapes", "out/etc/passwd": "symlink_component",
                 "magic/etc/passwd": "symlink_component", "chain/etc": "symlink_component", "loop/x": "symlink_component",
                 "/etc/passwd": "bad_path", "a//b": "bad_path", "a/": "bad_path", ".": "bad_path", "a/./b": "bad_path",
                 "x" * 256: "bad_path", "d/" * 2500 + "x": "bad_path", "file/x": "not_directory", "no/x": "not_found"}
        for path, word in cases.items():
            with self.subTest(path[:40]):
                self.assertEqual(self.client.stat(path), [word])
                self.assertEqual(self.client.read_files(path), [(None, b"", word)])
        for path, word in cases.items():
            if word not in ("not_found",):
                self.assertEqual(self.client.write_files((path, CREATE, b"x")), [word], path[:40])

    def test_reads_exactly(self):
        content = os.urandom(200_001)
        self.put("big", content)
        self.put("empty")
        found = self.client.read_files("big", "empty", ("big", 100, 5), ("big", 199_999), ("big", 300_000), ("big", 5, 0))
        self.assertEqual([data for _, data, _ in found], [content, b"", content[100:105], content[199_999:], b"", b""])
        self.assertEqual([end for *_, end in found], [True] * 6)

    def test_reads_only_regular_files(self):
        os.mkfifo(self.at("fifo"))
        os.symlink("/etc/passwd", self.at("link"))
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(self.at("socket"))
        self.put("secret", b"x", 0)
        os.mkdir(self.at("folder"))
        found = self.client.read_files("fifo", "link", "socket", "folder", "", "secret", "none")
        self.assertEqual([end for *_, end in found], ["not_regular"] * 5 + ["unreadable", "not_found"])

    def test_reads_no_half_of_a_write_that_goes_on(self):
        size, over = 4 << 20, threading.Event()
        self.put("file", b"A" * size)

        def rewrite():
            while not over.is_set():
                for letter in (b"B", b"A"):
                    with open(self.at("file"), "r+b", 0) as file:
                        file.write(letter * size)
                time.sleep(random.random() * 0.1)
        thread = threading.Thread(target=rewrite)
        thread.start()
        try:
            whole, until = 0, time.monotonic() + 2
            while time.monotonic() < until:
                (_, data, end), = self.client.read_files("file")
                self.assertIn(end, (True, "changed"))
                if end is True:
                    self.assertEqual(data.count(data[:1]), size)
                    whole += 1
            self.assertGreater(whole, 0)
        finally:
            over.set()
            thread.join()

    def test_reads_what_somebody_keeps_open(self):
        with open(self.at("log"), "wb", 0) as log:
            os.chown(self.at("log"), *([USER] * 2 if USER else [-1, -1]))
            os.chmod(self.at("log"), 0o644)
            for line in (b"one\n", b"two\n"):
                log.write(line)
            self.assertEqual(self.client.read_files("log")[0][1:], (b"one\ntwo\n", True))
            log.write(b"three\n")
        self.assertEqual(self.client.read_files("log")[0][1:], (b"one\ntwo\nthree\n", True))

    def test_reads_a_version_or_nothing(self):
        self.put("file", b"one")
        version = self.client.stat("file")[0].version
        self.assertEqual(self.client.read_files(("file", 0, 10, version))[0][1:], (b"one", True))
        self.put("file", b"two")
        self.assertEqual(self.client.read_files(("file", 0, 10, version)), [(None, b"", "changed")])

    def test_notices_changes_while_reading(self):
        self.put("file", b"x" * 1_000_000)
        body = struct.pack("<I", 1) + group([string("file") + struct.pack("<QQ", 0, (1 << 64) - 1) + string("")])
        call = self.client.request(READ, body)
        self.assertEqual(call.next().type, B_ENTRY)
        with open(self.at("file"), "r+b") as file:
            file.write(b"y")
        call.credit(GENEROUS)
        frames, _ = call.rest()
        self.assertEqual((frames[-1].type, frames[-1].payload[8:]), (B_FAULT, b"changed"))

    def test_an_unread_file_blocks_nobody_else(self):
        self.put("file", b"x" * 3_000_000)
        body = struct.pack("<I", 1) + group([string("file") + struct.pack("<QQ", 0, (1 << 64) - 1) + string("")])
        call = self.client.request(READ, body)
        call.next()
        self.assertEqual(self.client.sh("echo free")[1], b"free\n")
        self.assertEqual(self.client.stat("file")[0].size, 3_000_000)
        call.say(CANCEL)
        self.assertEqual(call.rest()[1], 1)

    def test_creates_exclusively_with_its_parents(self):
        entry, again = self.client.write_files(("a/b/c", CREATE, b"one", "", 0o600), ("a/b/c", CREATE, b"two"))
        self.assertEqual((entry.size, entry.mode, entry.links, again), (3, 0o600, 1, "exists"))
        self.assertEqual(entry, self.client.stat("a/b/c")[0])
        self.assertEqual(os.listdir(self.at("a/b")), ["c"])
        os.symlink("/tmp/planted", self.at("link"))
        self.assertEqual(self.client.write_files(("link", CREATE, b"x")), ["exists"])
        self.assertFalse(os.path.exists("/tmp/planted"))

    def test_overwrites_in_one_step_and_keeps_the_mode(self):
        self.put("file", b"old", 0o750)
        with open(self.at("file"), "rb") as held:
            entry, = self.client.write_files(("file", OVERWRITE, b"newer"))
            self.assertEqual((held.read(), entry.mode, entry.size), (b"old", 0o750, 5))
        self.assertEqual(self.client.write_files(("fresh", OVERWRITE, b"x", "", 0o604))[0].mode, 0o604)

    def test_overwrites_a_version_or_nothing(self):
        self.put("file", b"one")
        version = self.client.stat("file")[0].version
        entry, = self.client.write_files(("file", OVERWRITE, b"two", version))
        self.assertEqual(self.client.write_files(("file", OVERWRITE, b"three", version)), ["changed"])
        self.assertEqual(self.client.write_files(("none", OVERWRITE, b"x", version)), ["changed"])
        self.assertEqual(self.client.write_files(("file", OVERWRITE, b"four", entry.version))[0].size, 4)

    def test_notices_changes_while_writing(self):
        self.put("file", b"one")
        call = self.client.begin_write(("file", OVERWRITE, 3))
        call.data(b"tw")
        time.sleep(0.1)
        self.put("file", b"between")
        call.data(b"o")
        call.end()
        self.assertEqual(self.client.answers(call), ["changed"])
        self.assertEqual(os.listdir(self.root), ["file"])

    def test_appends(self):
        self.put("log", b"one\n", 0o600)
        entry, other = self.client.write_files(("log", APPEND, b"two\n"), ("new", APPEND, b"x"))
        with open(self.at("log"), "rb") as file:
            self.assertEqual((file.read(), entry.size, entry.mode, other.size), (b"one\ntwo\n", 8, 0o600, 1))

    def test_writes_only_over_regular_files(self):
        os.mkfifo(self.at("fifo"))
        os.symlink("/tmp/planted", self.at("link"))
        os.mkdir(self.at("folder"))
        for mode in (OVERWRITE, APPEND):
            found = self.client.write_files(*((path, mode, b"x") for path in ("fifo", "link", "folder", "")))
            self.assertEqual(found, ["not_regular"] * 4)

    def test_a_short_or_long_stream_leaves_nothing(self):
        self.put("log", b"keep")
        call = self.client.begin_write(("a", CREATE, 5), ("b", OVERWRITE, 5), ("log", APPEND, 5), ("log", APPEND, 2), ("d", CREATE, 1))
        for content in (b"1234", b"123456", b"123456789", b"1", b"x"):
            call.data(content)
            call.end()
        answers = self.client.answers(call)
        self.assertEqual((answers[:4], answers[4].size), (["size_mismatch"] * 4, 1))
        self.assertEqual(sorted(os.listdir(self.root)), ["d", "log"])
        with open(self.at("log"), "rb") as file:
            self.assertEqual(file.read(), b"keep")

    def test_a_cancelled_write_leaves_nothing(self):
        call = self.client.begin_write(("a", CREATE, 100_000))
        call.data(b"x" * 50_000)
        self.eventually(lambda: len(os.listdir(self.root)) == 1)
        call.say(CANCEL)
        self.assertEqual(call.rest()[1], 1)
        self.assertEqual(os.listdir(self.root), [])

    def test_a_host_that_goes_away_leaves_nothing(self):
        call = self.client.begin_write(("a", CREATE, 100_000))
        call.data(b"x" * 50_000)
        self.eventually(lambda: len(os.listdir(self.root)) == 1)
        self.assertEqual(self.client.close()[0], 0)
        self.assertEqual(os.listdir(self.root), [])

    def test_tells_when_there_is_no_space(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        client = self.connect(preexec=limit)
        self.assertEqual(client.write_files(("big", CREATE, b"x" * 300_000), ("small", CREATE, b"x"))[0], "no_space")
        self.assertEqual(os.listdir(self.root), ["small"])
        client.close()

    def test_writes_and_reads_much_with_flat_memory(self):
        content = os.urandom(1 << 20) * 30
        self.client.write_files(("big", CREATE, content))
        self.assertTrue(self.client.read_files("big")[0][1] == content)
        if not IS_CHECKED:
            with open(f"/proc/{self.client.pid}/status") as status:
                self.assertLess(int(status.read().split("VmHWM:")[1].split()[0]), 2048)

    def test_lists_level_by_level_in_order(self):
        for path in ("b/x/1", "b/y", "a/2", "c", ".git/config", "b/node_modules/z"):
            self.put(path)
        os.symlink("/etc", self.at("link"))
        entries, truncated = self.client.list(depth=3, skip=[".git", "node_modules"])
        self.assertEqual((list(entries), truncated), ([b"a", b"b", b"c", b"link", b"a/2", b"b/x", b"b/y", b"b/x/1"], False))
        self.assertEqual((entries[b"link"].kind, entries[b"b"].kind), (2, 1))
        self.assertEqual(list(self.client.list("b", depth=1)[0]), [b"node_modules", b"x", b"y"])

    def test_lists_no_more_than_asked_for(self):
        for n in range(300):
            self.put(f"d{n % 3}/{n:03}") if n < 3 else open(self.at(f"d{n % 3}/{n:03}"), "w").close()
        entries, truncated = self.client.list(depth=2, room=10)
        self.assertEqual((len(entries), truncated, list(entries)[:4]), (10, True, [b"d0", b"d1", b"d2", b"d0/000"]))
        self.assertEqual((len(self.client.list(depth=2, room=303)[0]), self.client.list(depth=2, room=303)[1]), (303, False))
        self.assertTrue(self.client.list(depth=2, room=302)[1])

    def test_lists_names_as_bytes(self):
        names = [b"\xff\xfe", "é".encode(), b"a\nb", b"-rf", b"n" * 255, b"\x1b[2J"]
        for name in names:
            open(os.path.join(self.root.encode(), name), "w").close()
        self.assertEqual(sorted(self.client.list()[0]), sorted(names))
        self.assertEqual(self.client.stat(b"\xff\xfe")[0].kind, 0)

    def test_lists_only_directories(self):
        self.put("file")
        os.symlink("/etc", self.at("link"))
        self.assertEqual([self.client.list(path) for path in ("file", "link", "none", "..")],
                         ["not_directory", "symlink_component", "not_found", "escapes"])

    def test_removes_exactly(self):
        self.put("a", b"x")
        self.put("b", b"x")
        self.put("folder/x/y")
        os.symlink(self.at("b"), self.at("link"))
        version = self.client.stat("a")[0].version
        self.put("a", b"other")
        self.assertEqual(self.client.remove(("a", version), "link", "folder", "none", ("folder", "", True), ""),
                         ["changed", True, "not_regular", "not_found", True, "denied"])
        self.assertEqual(sorted(os.listdir(self.root)), ["a", "b"])

    def test_removes_trees_without_following_links_however_deep(self):
        outside = tempfile.mkdtemp(prefix="boxd-outside-")
        open(os.path.join(outside, "canary"), "w").close()
        os.chmod(outside, 0o777)
        try:
            self.put("tree/x")
            os.symlink(outside, self.at("tree/link"))
            script = "cd tree; i=0; while [ $i -lt 400 ]; do mkdir -p d; cd d; touch f; i=$((i+1)); done; cd ..; chmod 0 d"
            self.assertEqual(self.client.sh(script)[0].value, 0)
            self.assertEqual(self.client.remove(("tree", "", True)), [True])
            self.assertEqual(os.listdir(outside), ["canary"])
            self.assertEqual(os.listdir(self.root), [])
        finally:
            shutil.rmtree(outside)

    def test_resets_directories(self):
        self.put("inbox/run/old/file")
        self.put("plain")
        os.symlink("/etc", self.at("link"))
        os.symlink("/tmp", self.at("inbox/other"))
        self.assertEqual(self.client.reset("inbox/run", "plain/deep", "link", "inbox/other", "new/a/b", ".."),
                         [True] * 5 + ["escapes"])
        for path in ("inbox/run", "plain/deep", "link", "inbox/other", "new/a/b"):
            self.assertEqual((os.path.islink(self.at(path)), os.listdir(self.at(path))), (False, []))

    def test_resets_directories_of_a_box_that_locked_itself_out(self):
        for command in ("chmod 000 .", "chmod 0 in", "chmod 0 in/run in .", "chmod 0500 in; chmod 0111 ."):
            with self.subTest(command):
                self.put("in/run/old")
                self.put("in/kept")
                self.put("top")
                self.assertEqual(self.client.sh(command)[0].value, 0)
                self.assertEqual(self.client.reset("in/run", "out/run"), [True, True])
                self.assertEqual(sorted(os.listdir(self.root)), ["in", "out", "top"])
                self.assertEqual((sorted(os.listdir(self.at("in"))), os.listdir(self.at("in/run"))), (["kept", "run"], []))
                self.assertEqual(self.client.sh("cat in/kept && touch in/run/x")[0].value, 0)

    def test_gives_back_only_the_rights_of_the_owner(self):
        self.put("a/b/x")
        self.assertEqual(self.client.sh("chmod 0041 a/b; chmod 2027 a; chmod 1050 .")[0].value, 0)
        self.assertEqual(self.client.reset("a/b/c"), [True])
        self.assertEqual(self.modes("", "a", "a/b", "a/b/c"), ["1750", "2727", "741", "755"])

    def test_gives_back_nothing_through_a_link(self):
        other = tempfile.mkdtemp(prefix="boxd-other-")
        try:
            os.chmod(other, 0o077)
            if USER is not None:
                os.chown(other, USER, USER)
            os.symlink(other, self.at("in"))
            self.assertEqual(self.client.reset("in/run"), [True])
            self.assertEqual("%o" % stat.S_IMODE(os.stat(other).st_mode), "77")
        finally:
            os.rmdir(other)

    def test_gives_back_nothing_unless_asked_to_reset(self):
        self.put("shut/x")
        self.assertEqual(self.client.sh("chmod 0 shut")[0].value, 0)
        self.assertEqual(self.client.stat("shut/x"), ["unreadable"])
        self.assertEqual(self.client.mkdir("shut/y"), ["denied"])
        self.assertEqual(self.modes("shut"), ["0"])

    @unittest.skipIf(USER is None, "needs two users")
    def test_a_directory_of_another_user_stays_an_error(self):
        self.put("in/x")
        os.chown(self.at("in"), 0, 0)
        os.chmod(self.at("in"), 0o700)
        self.assertEqual(self.client.reset("in/run"), ["denied"])
        self.assertEqual(self.modes("in"), ["700"])

    def test_serves_a_workspace_that_was_shut_before_it_started(self):
        self.put("kept", b"x")
        os.chmod(self.root, 0)
        late = self.connect()
        try:
            self.assertEqual(late.stat("kept")[0].size, 1)
            self.assertEqual(late.reset("in/run"), [True])
            self.assertEqual(late.sh("cat kept")[0].value, 0)
            self.assertEqual(self.modes(""), ["700"])
        finally:
            self.assertEqual(late.close(), (0, b""))

    def test_makes_directories(self):
        self.put("file")
        os.symlink("/tmp", self.at("link"))
        found = self.client.mkdir("a/b", "a", "file", "link", "link/x", "")
        self.assertEqual([one if isinstance(one, str) else one.kind for one in found],
                         [1, 1, "not_directory", "symlink_component", "symlink_component", "denied"])

    def test_renames(self):
        self.put("a", b"1")
        self.put("b", b"22")
        self.assertEqual(self.client.rename("a", "b"), "exists")
        self.assertEqual(self.client.rename("a", "b", True).size, 1)
        self.assertEqual(self.client.rename("b", "new/place").size, 1)
        self.assertEqual(self.client.rename("none", "x"), "not_found")
        self.assertEqual(self.client.rename("new/place", "../x"), "escapes")

    def test_lists_processes_of_the_box_but_not_its_own(self):
        # On a machine that others share, their helpers may run as the same user.
        own = [one for one in self.client.processes() if one[4] == "boxd" and self.client.pid in one[:2]]
        self.assertEqual(own, [])
        call = self.client.spawn(["/bin/sleep", "7.5"])
        pid = struct.unpack_from("<I", call.next().payload)[0]
        self.eventually(lambda: [one[4] for one in self.client.processes() if one[0] == pid] == ["sleep"])
        call.kill()
        self.client.collect(call)
        self.assertEqual([one for one in self.client.processes() if one[0] == pid], [])

    def test_tells_the_use_of_the_workspace(self):
        usage, space = self.client.usage(), os.statvfs(self.root)
        self.assertEqual((usage[0], usage[3]), (space.f_blocks * space.f_frsize, space.f_files))

    def test_links_that_flip_lead_nowhere(self):
        outside = tempfile.mkdtemp(prefix="boxd-outside-")
        os.chmod(outside, 0o777)
        with open(os.path.join(outside, "file"), "w") as file:
            file.write("canary")
        self.put("real/file", b"inside")
        over = threading.Event()
        def flip():
            while not over.is_set():
                try:
                    os.rename(self.at("real"), self.at("aside"))
                    os.symlink(outside, self.at("real"))
                    os.unlink(self.at("real"))
                    os.rename(self.at("aside"), self.at("real"))
                    time.sleep(random.random() * 0.003)
                except OSError:
                    # A write came between and made the directory anew.
                    shutil.rmtree(self.at("real"), ignore_errors=True)
                    if os.path.exists(self.at("aside")):
                        os.rename(self.at("aside"), self.at("real"))
        thread = threading.Thread(target=flip)
        thread.start()
        try:
            good = 0
            until = time.monotonic() + 1.5
            while time.monotonic() < until:
                (_, data, end), = self.client.read_files("real/file")
                self.assertIn((data, end), ((b"inside", True), (b"", "not_found"), (b"", "symlink_component")))
                good += end is True
                self.client.write_files((f"real/w{random.getrandbits(32)}", CREATE, b"x"))
                self.client.remove((f"real/w", "", True))
            self.assertGreater(good, 0)
            self.assertEqual(os.listdir(outside), ["file"])
        finally:
            over.set()
            thread.join()
            shutil.rmtree(outside)


class Archives(Box):
    def pack(self, path):
        frames, status = self.client.request(TAR_OUT, struct.pack("<I", GENEROUS) + string(path)).rest()
        self.assertEqual(status, 0)
        if frames[-1].type == B_FAULT:
            return frames[-1].payload[8:].decode()
        return b"".join(one.payload for one in frames if one.type == B_TAR)

    def unpack(self, path, archive, most=1 << 30):
        call = self.client.request(TAR_IN, struct.pack("<I", GENEROUS) + string(path) + struct.pack("<Q", most))
        call.data(archive)
        call.end()
        return self.client.answers(call)

    @staticmethod
    def archive(*entries, form=tarfile.PAX_FORMAT):
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=form) as tar:
            for name, content, *rest in entries:
                info = tarfile.TarInfo(name)
                info.type = rest[0] if rest else tarfile.REGTYPE
                info.linkname = "/etc/passwd" if info.type in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
                info.mode = 0o4755
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        return stream.getvalue()

    def test_packs_what_others_can_read(self):
        long = "/".join(["d" * 90] * 3)
        content = os.urandom(200_000)
        self.put("t/a", content, 0o640)
        self.put(f"t/{long}/b")
        os.symlink("/etc/passwd", self.at("t/link"))
        os.mkfifo(self.at("t/fifo"))
        with tarfile.open(fileobj=io.BytesIO(self.pack("t"))) as tar:
            self.assertEqual(sorted(tar.getnames()), sorted(["a", "d" * 90, "/".join(["d" * 90] * 2), long, f"{long}/b"]))
            self.assertEqual((tar.extractfile("a").read(), tar.getmember("a").mode), (content, 0o640))
        self.assertEqual([self.pack(path) for path in ("t/a", "t/link", "none", "..")],
                         ["not_directory", "symlink_component", "not_found", "escapes"])

    def test_unpacks_what_others_pack(self):
        content = os.urandom(300_000)
        names = ["a", "x/y", "n" * 150, "/".join(["p" * 80] * 3)]
        for form in (tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT):
            kept = [name for name in names if form == tarfile.PAX_FORMAT or len(name) < 100]
            archive = self.archive(("./", b"", tarfile.DIRTYPE), ("empty/", b"", tarfile.DIRTYPE), *((name, content) for name in kept), form=form)
            self.assertEqual(self.unpack(f"in{form}/deep", archive), [True])
            for name in kept:
                with open(self.at(f"in{form}/deep/{name}"), "rb") as file:
                    self.assertEqual((file.read() == content, stat.S_IMODE(os.fstat(file.fileno()).st_mode)), (True, 0o755))

    def test_comes_back_as_it_went(self):
        for n in range(20):
            self.put(f"t/{n % 3}/{n}", os.urandom(n * 1000))
        self.assertEqual(self.unpack("u", self.pack("t")), [True])
        self.assertEqual(self.client.sh("diff -r t u")[0].value, 0)

    def test_refuses_hostile_archives(self):
        good = self.archive(("a", b"x" * 600))
        os.makedirs(self.at("in"))
        os.symlink("/tmp", self.at("in/link"))
        os.chmod(self.root, 0o777)
        os.chmod(self.at("in"), 0o777)
        cases = {
            "parent": self.archive(("../a", b"x")), "absolute": self.archive(("/a", b"x")), "inner": self.archive(("b/../../a", b"x")),
            "link": self.archive(("l", b"", tarfile.SYMTYPE)), "hard link": self.archive(("l", b"", tarfile.LNKTYPE)),
            "device": self.archive(("d", b"", tarfile.CHRTYPE)), "fifo": self.archive(("f", b"", tarfile.FIFOTYPE)),
            "long name of GNU": self.archive(("n" * 200, b"x"), form=tarfile.GNU_FORMAT),
            "cut": good[:700], "cut header": good[:100], "nothing": b"x",
            "checksum": good[:150] + b"7" + good[151:], "double slash": self.archive(("a//b", b"x")),
        }
        for name, archive in cases.items():
            with self.subTest(name):
                self.assertEqual(self.unpack("in", archive), ["bad_archive"])
                self.assertEqual(os.listdir(self.at("in")), ["link"])
        self.assertEqual(self.unpack("in", self.archive(("link/a", b"x"))), ["symlink_component"])
        self.assertEqual(self.unpack("in", self.archive(("a", b"x" * 1000)), most=999), ["too_large"])
        self.assertEqual(os.listdir(self.at("in")), ["link"])
        # Without the end of the archive nobody knows what is missing; whole files that came before stay.
        self.assertEqual(self.unpack("in", good[:1536]), ["bad_archive"])
        self.assertEqual(sorted(os.listdir(self.at("in"))), ["a", "link"])

    def test_gives_each_forged_archive_its_answer(self):
        os.makedirs(self.at("in"))
        os.chmod(self.at("in"), 0o777)
        around = sorted(os.listdir(self.root))
        answers = {}
        cases = {name: (archive, ["a.txt"]) for name, archive in forged_archives.TAKEN.items()}
        cases |= forged_archives.OTHER_FILES
        cases |= {name: (archive, None) for name, archive in forged_archives.REFUSED.items()}
        for name, (archive, files) in cases.items():
            with self.subTest(name):
                shutil.rmtree(self.at("in"))
                os.makedirs(self.at("in"))
                os.chmod(self.at("in"), 0o777)
                answers[name] = self.unpack("in", archive, most=1 << 20)
                left = sorted(os.listdir(self.at("in")))
                self.assertEqual(answers[name] == [True], files is not None, (answers[name], left))
                if files is not None:
                    self.assertEqual(left, sorted(files))
                # Whatever came before a refusal is a file of the archive, whole and in its place.
                for one in left:
                    status = os.lstat(self.at(f"in/{one}"))
                    self.assertTrue(stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and not status.st_mode & 0o7000)
                    with open(self.at(f"in/{one}"), "rb") as file:
                        self.assertEqual(file.read(), b"hello")
                self.assertEqual(sorted(os.listdir(self.root)), around)
        self.assertGreaterEqual(len(cases), 47)
        self.assertEqual(self.client.sh("true")[0].value, 0)

    def test_a_cancelled_archive_leaves_no_half_file(self):
        call = self.client.request(TAR_IN, struct.pack("<I", GENEROUS) + string("in") + struct.pack("<Q", 1 << 30))
        call.data(self.archive(("big", b"x" * 100_000))[:50_000])
        self.eventually(lambda: os.path.exists(self.at("in")) and len(os.listdir(self.at("in"))) == 1)
        call.say(CANCEL)
        self.assertEqual(call.rest()[1], 1)
        self.assertEqual(os.listdir(self.at("in")), [])


class Probe(unittest.TestCase):
    def probe(self, **more):
        made = subprocess.run([BOXD, "probe"], capture_output=True, timeout=20, **AS_USER, **more)
        self.assertEqual((made.returncode, made.stderr), (0, b""))
        return json.loads(made.stdout)

    def test_tells_in_one_line_what_holds_for_the_process(self):
        told = self.probe(env={"PLAIN": "secret", "ODD\"\n\xff": "x"}, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        self.assertEqual((told["probe"], told["uid"], told["limits"]["file_bytes"]), (1, USER or os.geteuid(), 4096))
        self.assertEqual(told["calls"]["large_file"], "EFBIG")
        self.assertIn("lo", told["interfaces"])
        self.assertEqual(sorted(told["env"])[0][:5], "ODD??")
        self.assertNotIn("secret", json.dumps(told))

    def test_leaves_no_mount_behind_where_it_may_mount(self):
        with open("/proc/self/mountinfo") as file:
            before = file.read()
        subprocess.run([BOXD, "probe"], capture_output=True, timeout=20)
        with open("/proc/self/mountinfo") as file:
            self.assertEqual(file.read(), before)


class Relay(Box):
    def setUp(self):
        super().setUp()
        self.port = None
        self.sockets = []

    def tearDown(self):
        for one in self.sockets:
            one.close()
        super().tearDown()

    def listen(self, **options):
        call, self.port = self.client.relay(**options)
        return call

    def dial(self):
        one = socket.create_connection(("127.0.0.1", self.port), LIMIT)
        self.sockets.append(one)
        return one

    def open(self):
        """@returns (the program's end, the host's end)"""
        return self.dial(), self.client.opened.get(timeout=LIMIT)

    def received(self, call, count):
        found = b""
        while len(found) < count:
            one = call.next()
            self.assertEqual(one.type, B_RECEIVED)
            found += one.payload
        return found

    def everything(self, program):
        found = b""
        while part := program.recv(1 << 16):
            found += part
        return found

    def test_is_offered_and_listens_only_when_asked(self):
        self.assertEqual(self.client.features & 8, 8)
        call = self.listen()
        self.dial()
        self.client.opened.get(timeout=LIMIT)
        call.say(CANCEL)
        self.assertEqual(call.rest()[1], 1)
        with self.assertRaises(ConnectionRefusedError):
            self.dial()

    def test_listens_on_the_loopback_only(self):
        self.listen()
        with socket.socket() as other:
            other.bind(("127.0.0.2", self.port))

    def test_carries_bytes_both_ways_and_the_end_of_each(self):
        self.listen()
        program, host = self.open()
        program.sendall(b"question")
        self.assertEqual(self.received(host, 8), b"question")
        program.shutdown(socket.SHUT_WR)
        self.assertEqual(host.next().type, B_ENDED)
        host.data(b"answer" * 50_000)
        host.end()
        self.assertEqual(self.everything(program), b"answer" * 50_000)
        self.assertEqual(host.rest(), ([], 0))

    def test_ends_when_the_host_ends_first(self):
        self.listen()
        program, host = self.open()
        host.end()
        self.assertEqual(self.everything(program), b"")
        program.sendall(b"late")
        self.assertEqual(self.received(host, 4), b"late")
        program.close()
        frames, status = host.rest()
        self.assertEqual(([one.type for one in frames], status), ([B_ENDED], 0))

    def test_sends_within_the_credit_of_each_connection(self):
        self.listen(window=10_000)
        program, host = self.open()
        program.settimeout(0.3)
        with self.assertRaises(TimeoutError):
            for _ in range(1000):
                program.sendall(b"x" * 65536)
        first = host.next()
        other, second = self.open()
        other.sendall(b"beside")
        self.assertEqual(self.received(second, 6), b"beside")
        self.client.ping()
        self.assertTrue(host.frames.empty())
        self.assertLessEqual(len(first.payload), 65536)
        host.credit(len(first.payload) + 12)
        self.assertEqual(host.next().type, B_RECEIVED)

    def test_holds_no_more_than_the_window_of_a_program_that_does_not_read(self):
        self.listen()
        program, host = self.open()
        sent = 0
        with self.assertRaises(AssertionError):
            host.ready.wait_for = lambda rule, _: rule() or threading.Event().wait(0.2) or rule()
            while True:
                host.data(b"y" * 4096)
                sent += 4096
        self.client.ping()
        del host.ready.wait_for
        program.settimeout(LIMIT)
        got = 0
        while got < sent:
            got += len(program.recv(1 << 16))
        host.data(b"z")
        self.assertEqual(program.recv(10), b"z")

    def test_ends_the_channel_when_the_host_sends_more_than_the_window(self):
        self.listen()
        _, host = self.open()
        for _ in range(200):
            try:
                host.say(DATA, b"x" * 65536)
            except OSError:
                break
        self.assertEqual(self.client.process.wait(10), 76)

    def test_tells_a_connection_that_the_program_broke_off(self):
        self.listen()
        program, host = self.open()
        program.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        program.close()
        self.assertEqual(host.rest()[1], 2)

    def test_tells_a_program_that_went_away_after_it_had_ended_its_side(self):
        self.listen()
        program, host = self.open()
        program.shutdown(socket.SHUT_WR)
        self.assertEqual(host.next().type, B_ENDED)
        program.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        program.close()
        self.assertEqual(host.rest()[1], 2)

    def test_breaks_off_one_connection_when_told(self):
        self.listen()
        program, host = self.open()
        host.say(CANCEL)
        self.assertEqual(host.rest()[1], 1)
        with self.assertRaises(ConnectionResetError):
            program.recv(1)
        other, second = self.open()
        other.sendall(b"on")
        self.assertEqual(self.received(second, 2), b"on")

    def test_takes_as_many_connections_as_the_host_allows_and_leaves_the_others_waiting(self):
        call = self.listen(connections=2)
        first = [self.open() for _ in range(2)]
        third = self.dial()
        third.sendall(b"third")
        self.client.ping()
        self.assertTrue(self.client.opened.empty())
        first[0][1].say(CANCEL)
        self.assertEqual(first[0][1].rest()[1], 1)
        self.client.ping()
        self.assertTrue(self.client.opened.empty())
        call.credit(1)
        self.assertEqual(self.received(self.client.opened.get(timeout=LIMIT), 5), b"third")

    def test_has_a_limit_of_its_own(self):
        self.listen(connections=1000)
        opened = [self.open() for _ in range(MAX_CONNECTIONS)]
        late = self.dial()
        late.sendall(b"late")
        self.client.ping()
        self.assertTrue(self.client.opened.empty())
        opened[5][0].close()
        self.assertEqual(opened[5][1].next().type, B_ENDED)
        opened[5][1].end()
        self.assertEqual(opened[5][1].rest()[1], 0)
        self.assertEqual(self.received(self.client.opened.get(timeout=LIMIT), 4), b"late")

    def test_survives_a_flood_of_connections(self):
        call = self.listen()
        def flood():
            for number in range(1000):
                # Some hear of their end before they have begun.
                with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", self.port), LIMIT) as one:
                    if number % 3:
                        one.send(b"GET")

        flooding = threading.Thread(target=flood)
        flooding.start()
        seen = 0
        while seen < 1000:
            one = self.client.opened.get(timeout=LIMIT)
            one.say(CANCEL)
            call.credit(1)
            seen += 1
        flooding.join()
        with open(f"/proc/{self.client.pid}/status", encoding="ascii") as file:
            kib = int(file.read().split("VmRSS:")[1].split()[0])
        if not IS_CHECKED:
            self.assertLess(kib, 6000)
        self.client.ping()

    def test_refuses_a_port_that_is_taken_and_a_second_relay(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            self.assertEqual(self.client.relay(port=other.getsockname()[1])[1], "in_use")
        self.listen()
        self.assertEqual(self.client.relay()[1], "busy")
        if USER is not None:
            self.client.close()
            self.client = self.connect()
            self.assertEqual(self.client.relay(port=1)[1], "denied")

    def test_ends_with_the_channel(self):
        self.listen()
        program, _ = self.open()
        self.assertEqual(self.client.close(), (0, b""))
        self.assertEqual(self.everything(program), b"")
        with self.assertRaises(ConnectionRefusedError):
            self.dial()

    def test_leaves_no_descriptor_to_commands(self):
        self.listen()
        self.open()
        self.assertEqual(self.client.sh("ls /proc/self/fd | wc -l")[1].strip(), self.client.sh("ls /proc/self/fd | wc -l")[1].strip())
        self.assertNotIn(b"socket:", self.client.sh("ls -l /proc/self/fd")[1])


class OtherVerbs(unittest.TestCase):
    def run_boxd(self, *arguments, **options):
        return subprocess.run([BOXD, *arguments], capture_output=True, timeout=20, cwd="/", **AS_USER, **options)

    def test_version(self):
        done = self.run_boxd("version")
        self.assertRegex(done.stdout, rb"^boxd \d+\.\d+\.\d+ protocol 1\n$")

    def test_usage(self):
        for arguments in ((), ("nothing",), ("serve", "--root"), ("run",), ("run", "x", "--", "true"), ("run", "1", "true"), ("hold", "x")):
            self.assertEqual(self.run_boxd(*arguments).returncode, 64, arguments)

    def test_serve_without_a_root(self):
        self.assertEqual(self.run_boxd("serve", "--root", "/no/such/place").returncode, 71)

    def test_run_gives_the_exit_of_the_command(self):
        done = self.run_boxd("run", "5", "--", "sh", "-c", "cat; echo out; echo err >&2; exit 9", input=b"in\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (9, b"in\nout\n", b"err\n"))
        self.assertEqual(self.run_boxd("run", "5", "--", "sh", "-c", "kill -KILL $$").returncode, 137)
        self.assertEqual(self.run_boxd("run", "5", "--", "no-such", env={"PATH": os.defpath}).returncode, 127)

    def test_run_ends_the_tree_in_time_and_at_its_end(self):
        token = f"TOKEN{random.getrandbits(64):x}"
        begin = time.monotonic()
        done = self.run_boxd("run", "1", "--", "sh", "-c", "setsid sleep 1000 & trap '' TERM; sleep 1000", env={"TOKEN": token, "PATH": os.defpath})
        self.assertLess(time.monotonic() - begin, 3)
        self.assertEqual((done.returncode, alive(token)), (124, []))
        done = self.run_boxd("run", "9", "--", "sh", "-c", "setsid sleep 1000 & exit 2", env={"TOKEN": token, "PATH": os.defpath})
        self.assertEqual((done.returncode, alive(token)), (2, []))

    def test_run_ends_the_tree_when_asked(self):
        token = f"TOKEN{random.getrandbits(64):x}"
        process = subprocess.Popen([BOXD, "run", "9", "--", "sh", "-c", "setsid sleep 1000 & sleep 1000"], cwd="/",
                                   env={"TOKEN": token, "PATH": os.defpath}, **AS_USER)
        time.sleep(0.3)
        # The supervisor hides its own.
        self.assertEqual(len(alive(token)), 3)
        process.terminate()
        self.assertEqual(process.wait(5), 137)
        self.assertEqual(alive(token), [])

    def test_hold_leaves_when_told(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = subprocess.Popen([BOXD, "hold"])
            time.sleep(0.1)
            self.assertIsNone(process.poll())
            process.send_signal(number)
            self.assertEqual(process.wait(2), 0)


if __name__ == "__main__":
    unittest.main()

/** What a box cannot do, seen from inside and in the engine's own words. */
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BoxPlace } from "../../src/ports/box-backend.js";
import type { BoxHandle } from "../../src/ports/box-handle.js";
import { run } from "../contracts/box-backend.js";
import { ENGINE_SETTINGS, hasEngine, TestEngine } from "../support/engine.js";
import { proves } from "../support/proves.js";
import { textLike } from "../support/text-like.js";

/** Tries calls that no box needs and prints what the kernel says; x86-64 numbers. */
const REFUSED_CALLS = `
import ctypes, errno, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(number, *args)
    return "allowed" if result >= 0 else errno.errorcode[ctypes.get_errno()]
def family(*args):
    try:
        socket.socket(*args).close()
        return "allowed"
    except OSError as error:
        return errno.errorcode[error.errno]
print("io_uring_setup", call(425, 1, 0))
print("ptrace", call(101, 0, 0, 0, 0))
print("unshare", call(272, 0x10000000))
print("mount", call(165, 0, 0, 0, 0, 0))
print("bpf", call(321, 0, 0, 0))
print("userfaultfd", call(323, 0))
print("keyctl", call(250, 0, 0, 0, 0, 0))
print("vsock", family(40, socket.SOCK_STREAM))
print("packet", family(socket.AF_PACKET, socket.SOCK_RAW))
print("netfilter", family(socket.AF_NETLINK, socket.SOCK_RAW, 12))
print("routes", family(socket.AF_NETLINK, socket.SOCK_RAW, 0))
`;

const CONNECT_OUT = `
import errno, socket
for host, port in (("1.1.1.1", 80), ("172.17.0.1", 80), ("169.254.169.254", 80), ("2606:4700:4700::1111", 80)):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as attempt:
        attempt.settimeout(3)
        try:
            attempt.connect((host, port))
            print(host, "connected")
        except OSError as error:
            print(host, errno.errorcode.get(error.errno, "failed"))
try:
    socket.getaddrinfo("example.com", 80)
    print("resolved")
except socket.gaierror:
    print("not resolved")
print(sorted(name for _, name in socket.if_nameindex()))
`;

/** Prints what it could connect to: four ports and then hosts. */
const CONNECT_TO = `
import socket, sys
for host in sys.argv[5:]:
    for port in map(int, sys.argv[1:5]):
        try:
            socket.create_connection((host, port), 1).close()
            print(host, port)
        except OSError:
            pass
`;

describe.skipIf(!hasEngine())("a box of a Docker engine", () => {
  const settings = { ...ENGINE_SETTINGS, workspaceQuotaMb: 4 };
  let engine: TestEngine;
  let place: BoxPlace;
  let box: BoxHandle;

  beforeAll(async () => {
    engine = new TestEngine();
    ({ place, box } = await engine.startBox(settings));
  });
  afterAll(async () => {
    await box[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  const shell = async (text: string): Promise<string> => (await run(box, ["sh", "-c", text])).stdout;
  const python = async (text: string): Promise<string> => (await run(box, ["python3", "-c", text])).stdout;

  it("is made with the settings it was given", async () => {
    proves("BOX-09");
    const {
      Config: config,
      HostConfig: host,
      Mounts: mounts,
    } = await engine.docker.getContainer(place.container).inspect();
    expect(host).toMatchObject({
      NetworkMode: "none",
      NanoCpus: 1e9,
      CpuShares: 256,
      Memory: 256 * 1024 * 1024,
      MemorySwap: 256 * 1024 * 1024,
      PidsLimit: 128,
      ReadonlyRootfs: true,
      Tmpfs: { "/tmp": "rw,nosuid,nodev,exec,size=64m,nr_inodes=16384,mode=1777" },
      CapDrop: ["ALL"],
      Privileged: false,
      IpcMode: "private",
      CgroupnsMode: "private",
      Init: true,
      LogConfig: { Type: "none" },
    });
    expect(JSON.stringify(host.SecurityOpt)).toMatch(/^\["no-new-privileges:true","seccomp=\{/);
    expect(mounts.toSorted((a, b) => a.Destination.localeCompare(b.Destination))).toMatchObject([
      { Type: "volume", Name: textLike(/^berth-boxd-/), Destination: "/opt/berth", RW: false },
      {
        Type: "bind",
        Source: textLike(new RegExp(`^${engine.socketDirectory}/[0-9a-f]{24}$`)),
        Destination: "/run/berth",
        RW: false,
        Propagation: "rprivate",
      },
      { Type: "volume", Name: place.volume, Destination: "/workspace", RW: true },
    ]);
    expect(config.Labels).toMatchObject({
      "berth.service": engine.serviceId,
      "berth.session": place.sessionId,
      "berth.uid": String(place.uid),
    });
    expect(JSON.stringify(config.Labels)).not.toContain(place.tenant);
    const status = await shell("cat /proc/self/status");
    expect(status).toContain(`Uid:\t${place.uid}\t${place.uid}\t${place.uid}\t${place.uid}`);
    for (const capabilities of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
      expect(status).toContain(`${capabilities}:\t0000000000000000`);
    expect(status).toContain("NoNewPrivs:\t1");
    expect(status).toContain("Seccomp:\t2");
    const top = await engine.processes(place.container);
    expect(top.filter((line) => / (20000|berth) .*boxd hold/.test(` ${line}`)).length).toBeGreaterThan(0);
  });

  it("has no network but its own loopback", async () => {
    proves("BOX-03");
    expect((await python(CONNECT_OUT)).trim().split("\n")).toEqual([
      "1.1.1.1 ENETUNREACH",
      "172.17.0.1 ENETUNREACH",
      "169.254.169.254 ENETUNREACH",
      expect.not.stringContaining("connected"),
      "not resolved",
      "['lo']",
    ]);
  });

  it("reaches neither another box, nor the host, nor the service", async () => {
    proves("ISO-13", "ISO-15");
    let connections = 0;
    const service = createServer(() => {
      connections += 1;
    });
    await new Promise<void>((resolve) => {
      service.listen(0, "0.0.0.0", resolve);
    });
    const address = service.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const { box: other } = await engine.startBox();
    await run(other, ["sh", "-c", "python3 -m http.server 8000 & sleep 0.5"]);
    const hosts = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map((one) => one.address));
    const targets = [
      ...hosts,
      "172.17.0.1",
      "172.17.0.2",
      "172.17.0.3",
      "169.254.169.254",
      "box",
      "localhost",
    ];
    const { stdout } = await run(box, [
      "python3",
      "-c",
      CONNECT_TO,
      String(port),
      "8000",
      "80",
      "22",
      ...targets,
    ]);
    expect(stdout).toBe("");
    expect(connections).toBe(0);
    await other[Symbol.asyncDispose]();
    await new Promise((resolve) => {
      service.close(resolve);
    });
  });

  it.runIf(process.arch === "x64")("is refused the calls that attack the kernel", async () => {
    expect((await python(REFUSED_CALLS)).trim().split("\n")).toEqual([
      "io_uring_setup ENOSYS",
      "ptrace EPERM",
      "unshare EPERM",
      "mount EPERM",
      "bpf EPERM",
      "userfaultfd EPERM",
      "keyctl EPERM",
      "vsock EPERM",
      "packet EPERM",
      "netfilter EPERM",
      "routes allowed",
    ]);
  });

  it("can neither end its first process nor write to what that holds", async () => {
    const result = await run(box, ["sh", "-c", "kill -9 1; echo x > /proc/1/fd/1; cat /proc/1/environ"]);
    expect(result.stdout).toBe("");
    expect(result.stderr).toMatch(/not permitted[\s\S]*Permission denied[\s\S]*Permission denied/);
    expect(
      (await engine.backend.inspect(place.container, { signal: new AbortController().signal }))?.state,
    ).toBe("running");
  });

  it("may write to its workspace and to /tmp, where programs run, and nowhere else", async () => {
    const tries =
      "for d in / /etc /usr /var /opt /root /run /home /srv /proc/sys; do touch $d/x 2>/dev/null && echo $d; done";
    expect(
      await shell(`${tries}; echo; touch /workspace/x && cp /bin/true /tmp/run && /tmp/run && echo ran`),
    ).toBe("\nran\n");
  });

  it("finds a workspace of its own, ready", async () => {
    expect(
      await shell(
        "stat -c '%a %u %g %n' /workspace && cd /workspace && stat -c '%a %u %n' .home .tool-results inbox outbox",
      ),
    ).toBe(
      [
        `700 ${place.uid} ${place.uid} /workspace`,
        `755 ${place.uid} .home`,
        `755 ${place.uid} .tool-results`,
        `755 ${place.uid} inbox`,
        `755 ${place.uid} outbox`,
        "",
      ].join("\n"),
    );
  });

  it("knows nothing of the service", async () => {
    const seen = await shell("env; cat /proc/1/cgroup /proc/self/mountinfo; hostname; ls /var/run /run");
    for (const secret of [place.sessionId, "docker.sock", "DOCKER_", "npm_", "node_modules"])
      expect(seen).not.toContain(secret);
    expect(await shell("hostname; env | cut -d= -f1 | sort | tr '\\n' ' '")).toBe(
      "box\nHOME LANG LOGNAME PATH PWD USER ",
    );
  });

  it("makes no file above the quota, and no sparse one", async () => {
    const result = await run(box, [
      "sh",
      "-c",
      "truncate -s 1T /workspace/sparse; head -c 5000000 /dev/zero > /workspace/big",
    ]);
    expect(result.exit.exitCode).not.toBe(0);
    expect(await shell("stat -c %s /workspace/big; stat -c %s /workspace/sparse 2>/dev/null || true")).toBe(
      "4194304\n0\n",
    );
  });

  it("reaps what ends", async () => {
    await shell("for i in 1 2 3 4 5; do (sh -c 'sleep 0.01 & exit' &); done; sleep 0.1");
    expect((await engine.processes(place.container)).filter((line) => line.includes("defunct"))).toEqual([]);
  });

  it("keeps its files through a preparation by another uid, which follows no link", async () => {
    const other = { ...place, uid: place.uid === 30_001 ? 30_002 : place.uid - 1 };
    await shell(
      "rm -rf /workspace/inbox; ln -s /etc /workspace/inbox; mkdir -p /workspace/d; echo kept > /workspace/d/f",
    );
    await box[Symbol.asyncDispose]();
    await engine.backend.removeContainer(place.container, { signal: new AbortController().signal });
    const options = { signal: new AbortController().signal };
    await engine.backend.prepareWorkspace(other, settings, options);
    await engine.backend.start(other, settings, options);
    place = other;
    box = await engine.backend.open(other, options);
    expect(await shell("cat /workspace/d/f; stat -c %u /workspace/d/f /workspace/inbox /etc")).toBe(
      `kept\n${other.uid}\n${other.uid}\n0\n`,
    );
    expect(await shell("echo new > /workspace/d/f && cat /workspace/d/f")).toBe("new\n");
  });
});

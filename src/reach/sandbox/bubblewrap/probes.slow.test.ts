// Every wall of the box, attacked twice: with it nothing happens, and with exactly that argument taken away the same
// attack succeeds. A probe that fails without its wall proves nothing about the wall.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Server } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openBubblewrap } from "../bubblewrap.ts";
import type { Sandbox, SandboxJob } from "../sandbox.ts";
import { openFolder, tryJob } from "../sandbox.suite.ts";
import type { Tamper } from "./box.ts";
import { findProgram } from "./system.ts";

const path = process.env["PATH"] ?? "";
const PYTHON = "/usr/bin/python3";
const isRoot = process.getuid?.() === 0;
const missing = findProgram("bwrap", path) === null || !existsSync(PYTHON);
/** Whose processes on the host the box could reach, were it not for its walls. */
const owner = { uid: 5123, gid: 5123 };

/** The list without one option and what belongs to it. */
const without =
  (...options: readonly string[]) =>
  (args: readonly string[]): string[] => {
    const left = [...args];
    for (const option of options) {
      const words = option.split(" ");
      const at = left.findIndex((_one, index) =>
        words.every((word, offset) => left[index + offset] === word),
      );
      if (at < 0) throw new Error(`not in the list: ${option}`);
      left.splice(at, words.length);
    }
    return left;
  };
/** --seccomp and its descriptor, whose number is not known here. */
const noFilter = (args: readonly string[]): string[] =>
  args.filter((one, index) => one !== "--seccomp" && args[index - 1] !== "--seccomp");
const noSizes = (args: readonly string[]): string[] =>
  args.filter((one, index) => one !== "--size" && args[index - 1] !== "--size");
const both =
  (...steps: ((args: readonly string[]) => readonly string[])[]) =>
  (args: readonly string[]): readonly string[] =>
    steps.reduce((list, step) => step(list), args);

const CALLS = `import ctypes, os, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(number, *args)
    return 'OK' if result >= 0 else errno.errorcode[ctypes.get_errno()]
`;

describe.skipIf(missing)("walls of the box", { timeout: 60_000 }, () => {
  let folder: string;
  const opened: Sandbox[] = [];
  const children: ChildProcess[] = [];
  const open = (tamper?: Tamper): Sandbox => {
    const sandbox = openBubblewrap({ folder: join(folder, "own"), path }, tamper);
    opened.push(sandbox);
    return sandbox;
  };
  let whole: Sandbox;
  beforeAll(() => {
    folder = openFolder();
    whole = open();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    for (const sandbox of opened.splice(1)) await sandbox.close();
  });
  afterAll(async () => {
    await whole.close();
    rmSync(folder, { recursive: true, force: true });
  });

  interface Probe {
    readonly argv: readonly string[];
    readonly job?: Partial<SandboxJob>;
    readonly held: string | RegExp;
    readonly off: Tamper;
    readonly escaped: string | RegExp;
    /** Taken from both, where two walls stand behind each other. */
    readonly base?: Tamper;
  }
  async function proves({ argv, job, held, off, escaped, base }: Probe): Promise<void> {
    const kept = await tryJob(base === undefined ? whole : open(base), argv, job);
    expect(kept.out + kept.err).toMatch(held);
    const open_ = await tryJob(open(off), argv, job);
    expect(open_.out + open_.err).toMatch(escaped);
  }
  const python = (code: string): string[] => [PYTHON, "-c", code];
  const sh = (code: string): string[] => ["/bin/sh", "-c", code];

  test.skipIf(!isRoot)("real uid: a file of root that is bound in cannot be read", async () => {
    const file = join(folder, "secret");
    writeFileSync(file, "of-root", { mode: 0o600 });
    await proves({
      argv: ["/bin/cat", "/secret"],
      job: { mounts: [{ host: file, at: "/secret", access: "ro" }] },
      held: /Permission denied/,
      off: { asRoot: true },
      escaped: "of-root",
    });
  });

  test("--unshare-user by name: where there is no namespace to be had, nothing starts", () => {
    const limited = (option: string): number => {
      try {
        execFileSync(
          "unshare",
          [
            "-Ur",
            "/bin/sh",
            "-c",
            `echo 0 > /proc/sys/user/max_user_namespaces; exec bwrap ${option} --ro-bind / / /bin/true`,
          ],
          { stdio: "ignore" },
        );
        return 0;
      } catch (cause) {
        return (cause as { status: number }).status;
      }
    };
    expect(limited("--unshare-user")).not.toBe(0);
    expect(limited("--unshare-all")).toBe(0);
  });

  test.skipIf(!isRoot)(
    "T41 --unshare-pid: processes of the host cannot be seen or signalled",
    async () => {
      const victim = spawn("sleep", ["300"], { ...owner });
      children.push(victim);
      const code = `import os\ntry:\n    os.kill(${victim.pid}, 0); print('DELIVERED')\nexcept OSError as e: print(type(e).__name__)`;
      await proves({
        argv: python(code),
        job: { owner },
        held: "ProcessLookupError",
        off: { args: without("--unshare-pid", "--proc /proc") },
        escaped: "DELIVERED",
      });
    },
  );

  test("T42 --unshare-net: no port and no abstract socket of the host", async () => {
    const server = (at: string | { host: string; port: number }): Promise<Server> =>
      new Promise((resolve) => {
        const one = createServer((socket) => socket.end("HELLO")).listen(at, () => resolve(one));
      });
    const abstract = `ostiary-test-${process.pid}`;
    const [tcp, unix] = await Promise.all([
      server({ host: "127.0.0.1", port: 0 }),
      server(`\0${abstract}`),
    ]);
    const { port } = tcp.address() as AddressInfo;
    const code = `import socket
def probe(family, address):
    s = socket.socket(family)
    try:
        s.connect(address); print('REACHED', s.recv(5))
    except OSError as e: print(type(e).__name__)
probe(socket.AF_INET, ('127.0.0.1', ${port}))
probe(socket.AF_UNIX, '\\0${abstract}')`;
    await proves({
      argv: python(code),
      job: { localSockets: true },
      held: /^ConnectionRefusedError\nConnectionRefusedError\n$/,
      off: { args: without("--unshare-net") },
      escaped: /REACHED.*\nREACHED/,
    });
    for (const one of [tcp, unix]) one.close();
  });

  test("--unshare-ipc: shared memory of the host is not there", async () => {
    const made = execFileSync("ipcmk", ["-M", "4096", "-p", "0666"], { encoding: "utf8" });
    const id = /(\d+)\s*$/.exec(made)?.[1] ?? "";
    const key = execFileSync("ipcs", ["-m"], { encoding: "utf8" })
      .split("\n")
      .find((line) => line.split(/\s+/)[1] === id)
      ?.split(/\s+/)[0];
    const code = `${CALLS}libc.shmget.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_int]
ctypes.set_errno(0)
print('ATTACHED' if libc.shmget(${key}, 0, 0) >= 0 else errno.errorcode[ctypes.get_errno()])`;
    try {
      await proves({
        argv: python(code),
        held: "ENOENT",
        off: { args: without("--unshare-ipc") },
        escaped: "ATTACHED",
      });
    } finally {
      execFileSync("ipcrm", ["-m", id]);
    }
  });

  test("--unshare-uts and --hostname: the host's name is not told", async () => {
    await proves({
      argv: ["/bin/uname", "-n"],
      held: /^job\n$/,
      off: { args: without("--unshare-uts", "--hostname job") },
      escaped: new RegExp(`^${hostname()}\n$`),
    });
  });

  test("T45 --disable-userns: no further user namespace, also without the filter", async () => {
    await proves({
      argv: python(
        `${CALLS}print('USERNS', 'OK' if libc.unshare(0x10000000) == 0 else errno.errorcode[ctypes.get_errno()])`,
      ),
      base: { args: noFilter },
      held: "USERNS ENOSPC",
      off: { args: both(noFilter, without("--disable-userns", "--assert-userns-disabled")) },
      escaped: "USERNS OK",
    });
  });

  test("--assert-userns-disabled: a list without --disable-userns does not start at all", async () => {
    const weaker = open({ args: without("--disable-userns") });
    expect(await weaker.probed).toMatchObject({
      ready: false,
      reason: expect.stringContaining("could not be built"),
    });
    await expect(tryJob(weaker, ["/bin/true"])).rejects.toMatchObject({
      fault: { code: "UNAVAILABLE", reason: "sandbox_unavailable" },
    });
  });

  test.skipIf(!isRoot)(
    "--cap-drop ALL: a launcher of root without a user namespace cannot remount",
    async () => {
      const work = join(folder, "remount");
      mkdirSync(work);
      const noUser = without(
        "--unshare-user",
        "--disable-userns",
        "--assert-userns-disabled",
        "--uid 1000 --gid 1000",
      );
      const job: Partial<SandboxJob> = { mounts: [{ host: work, at: "/target", access: "ro" }] };
      await proves({
        argv: sh("mount -o remount,bind,rw /target && echo written > /target/file && echo ESCAPED"),
        job,
        base: { asRoot: true, args: both(noFilter, noUser) },
        held: /permission denied|must be superuser|not permitted/i,
        off: { asRoot: true, args: both(noFilter, noUser, without("--cap-drop ALL")) },
        escaped: "ESCAPED",
      });
      expect(readFileSync(join(work, "file"), "utf8")).toBe("written\n");
    },
  );

  const TERMINAL = "/proc/sys/dev/tty/legacy_tiocsti";
  test.skipIf(existsSync(TERMINAL) && readFileSync(TERMINAL, "utf8").trim() === "0")(
    "T40 --new-session and the filter: nothing is typed into a terminal, each wall enough alone",
    () => {
      const filter = join(folder, "own", readdirSync(join(folder, "own"))[0] ?? "", "filter");
      const inject = `import fcntl, os\ntry:\n    fcntl.ioctl(0, 0x5412, b'X'); print('INJECTED')\nexcept OSError as e: print('REFUSED', e.errno)`;
      const attempt = (...options: string[]): string => {
        const inner = [
          "bwrap",
          ...options,
          "--unshare-user",
          "--ro-bind",
          "/",
          "/",
          "--",
          PYTHON,
          "-c",
          inject,
        ];
        const code = `import pty, os, sys, json
argv = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    f = os.open(${JSON.stringify(filter)}, os.O_RDONLY); os.dup2(f, 9); os.set_inheritable(9, True)
    os.execvp(argv[0], argv)
out = b''
try:
    while True:
        part = os.read(fd, 4096)
        if not part: break
        out += part
except OSError: pass
print(out.decode())`;
        return execFileSync(PYTHON, ["-c", code, JSON.stringify(inner)], { encoding: "utf8" });
      };
      expect(attempt()).toContain("INJECTED");
      expect(attempt("--new-session")).toContain("REFUSED");
      expect(attempt("--seccomp", "9")).toContain("REFUSED 1");
    },
  );

  test("--die-with-parent: nothing outlives a server that was killed", async () => {
    const abandoned = async (mark: string, options: string, way = "run"): Promise<void> => {
      const code = `import { openBubblewrap } from ${JSON.stringify(join(import.meta.dirname, "../bubblewrap.ts"))};
const cut = (args) => ${options};
const sandbox = openBubblewrap({ folder: ${JSON.stringify(join(folder, "own"))}, path: process.env.PATH }, { args: cut });
await sandbox.${way}({ argv: ["/bin/sh", "-c", "sleep ${mark} & setsid sleep ${mark} & sleep ${mark}"], cwd: "/job", env: {}, mounts: [], signal: new AbortController().signal });`;
      const server = spawn(
        process.execPath,
        ["--no-warnings", "--input-type=module-typescript", "-e", code],
        { stdio: "ignore" },
      );
      children.push(server);
      await expect.poll(() => sleepers(mark).length, { timeout: 30_000 }).toBeGreaterThanOrEqual(3);
      server.kill("SIGKILL");
      await expect.poll(() => server.signalCode).toBe("SIGKILL");
    };
    await abandoned("98761", "args");
    await expect.poll(() => sleepers("98761")).toEqual([]);
    await abandoned("98763", "args", "open");
    await expect.poll(() => sleepers("98763")).toEqual([]);
    await abandoned("98762", 'args.filter((one) => one !== "--die-with-parent")');
    // Long enough for what dies to be dead, and soon: the next server that opens would sweep them away.
    await new Promise((resolve) => setTimeout(resolve, 400));
    const left = sleepers("98762");
    for (const pid of left) process.kill(pid, "SIGKILL");
    expect(left.length).toBeGreaterThan(0);
  });

  test("T43 --clearenv: what the server knows is not in the environment", async () => {
    const env = { OSTIARY_CANARY: "sk-canary" };
    await proves({
      argv: ["/usr/bin/env"],
      base: { env },
      held: /^(?!.*canary)/s,
      off: { env, args: without("--clearenv") },
      escaped: "sk-canary",
    });
  });

  test("the few read-only binds: no home, no /etc, no /sys, no socket of the host", async () => {
    const socketPath = join(folder, "host.sock");
    const server = createServer((socket) => socket.end()).listen(socketPath);
    const code = `import os, socket
print([p for p in ['/root', '/home', '/sys', '/run', '/var', '/boot', '/etc/shadow', '/etc/hostname', '/etc/resolv.conf', ${JSON.stringify(socketPath)}] if os.path.lexists(p)])
try:
    socket.socket(socket.AF_UNIX).connect(${JSON.stringify(socketPath)}); print('CONNECTED')
except OSError as e: print(type(e).__name__)`;
    execFileSync("chmod", ["777", socketPath]);
    const hostRoot = (args: readonly string[]): string[] => [
      ...args.slice(0, args.indexOf("--ro-bind")),
      ...["--ro-bind", "/", "/", "--chdir", "/"],
      ...args.slice(args.indexOf("--seccomp")),
    ];
    await proves({
      argv: python(code),
      job: { localSockets: true },
      held: /^\[\]\nFileNotFoundError/,
      off: { args: hostRoot },
      escaped: /'\/sys'.*\nCONNECTED/,
    });
    server.close();
  });

  test("--proc: settings of the kernel cannot be written", async () => {
    const { out } = await tryJob(
      whole,
      sh(
        "for f in /proc/sys/kernel/hostname /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sysrq-trigger; do (echo x > $f) 2>/dev/null && echo WRITTEN $f; done; echo end",
      ),
    );
    expect(out).toBe("end\n");
  });

  const fill = (file: string): string[] =>
    sh(`dd if=/dev/zero of=${file} bs=1M count=40 2>&1 | tail -1; stat -c %s ${file}`);
  test("--dev with a sized /dev/shm, read-only: neither can be filled", async () => {
    await proves({
      argv: fill("/dev/shm/x"),
      held: /\n16777216\n/,
      off: { args: without("--size 16777216") },
      escaped: /41943040/,
    });
    await proves({
      argv: sh("echo x > /dev/y && echo WRITTEN"),
      held: /Read-only/,
      off: { args: without("--remount-ro /dev") },
      escaped: "WRITTEN",
    });
  });

  test("a sized /tmp and /job: scratch has an end", async () => {
    const job = { limits: { tmpBytes: 8_388_608 } };
    await proves({
      argv: fill("/tmp/x"),
      job,
      held: /\n8388608\n/,
      off: { args: noSizes },
      escaped: "41943040",
    });
    const { out } = await tryJob(whole, fill("/job/x"), job);
    expect(out).toContain("8388608");
  });

  test("--remount-ro /: the root cannot be written", async () => {
    await proves({
      argv: sh("echo x > /file && echo WRITTEN"),
      held: /Read-only/,
      off: { args: without("--remount-ro /") },
      escaped: "WRITTEN",
    });
  });

  test.skipIf(process.arch !== "x64")(
    "T45 --seccomp: system calls that open boxes are refused",
    async () => {
      const code = `${CALLS}
print('unix', call(41, 1, 1, 0)); print('vsock', call(41, 40, 1, 0)); print('io_uring', call(425, 1, 0))
print('keyctl', call(250, 0, -3, 0)); print('bpf', call(321, 999, 0, 0)); print('userfaultfd', call(323, 1))
print('ptrace', call(101, 0, 0, 0, 0)); print('mount', call(165, 0, 0, 0, 0, 0)); print('setns', call(308, -1, 0)); print('open_tree', call(428, -100, 0, 0))`;
      const list = [
        "unix",
        "vsock",
        "io_uring",
        "keyctl",
        "bpf",
        "userfaultfd",
        "ptrace",
        "mount",
        "setns",
        "open_tree",
      ];
      const strict = new RegExp(`^${list.map((name) => `${name} EPERM\n`).join("")}$`);
      const loose = (out: string): string[] =>
        out
          .trim()
          .split("\n")
          .filter((line) => !line.endsWith("EPERM"))
          .map((line) => line.split(" ")[0] ?? "");
      expect((await tryJob(whole, python(code))).out).toMatch(strict);
      const open_ = await tryJob(open({ args: noFilter }), python(code));
      expect(loose(open_.out)).toEqual(
        expect.arrayContaining(["unix", "io_uring", "keyctl", "bpf", "userfaultfd", "ptrace"]),
      );
      // A browser's variant gives back the one family, and nothing else.
      const browser = await tryJob(whole, python(code), { localSockets: true });
      expect(loose(browser.out)).toEqual(["unix"]);
      // The number above 32 bits is what a wrong comparison would let through.
      const wide = python(`${CALLS}print(call(16, 0, ctypes.c_ulong(0x100005412), b'X'))`);
      expect((await tryJob(whole, wide)).out).toBe("EPERM\n");
    },
  );

  test("socketpair stays: Node starts children under the filter", async () => {
    const code =
      'require("child_process").execFile("/bin/echo", ["from a child"], (e, out) => console.log(e ?? out.trim()))';
    const { out } = await tryJob(whole, ["/opt/ostiary/node", "-e", code], {
      mounts: [{ host: process.execPath, at: "/opt/ostiary/node", access: "ro" }],
    });
    expect(out).toBe("from a child\n");
  });

  test.skipIf(!isRoot)("control group and own user: processes and memory have an end", async () => {
    const forks = python(`import os, time
made = 0
for i in range(200):
    try:
        if os.fork() == 0: time.sleep(5); os._exit(0)
        made += 1
    except OSError: break
print('MADE', made, flush=True); os._exit(0)`);
    await proves({
      argv: forks,
      job: { limits: { processes: 30 } },
      held: /MADE (1\d|2\d)\n/,
      off: { cage: false, prlimit: false },
      escaped: "MADE 200",
    });
    const eat = python("x = bytearray(300_000_000); print('EATEN', len(x))");
    const job = { limits: { memoryBytes: 67_108_864 } };
    expect(await tryJob(whole, eat, job)).toMatchObject({ oom: true, out: "", exitCode: 137 });
    expect(await tryJob(open({ cage: false }), eat, job)).toMatchObject({
      oom: false,
      out: "EATEN 300000000\n",
    });
  });

  test("T43: a descriptor that somebody left open for the server is not handed on", async () => {
    const inside = async (descriptors: string): Promise<string> => {
      const code = `import { openBubblewrap } from ${JSON.stringify(join(import.meta.dirname, "../bubblewrap.ts"))};
const sandbox = openBubblewrap({ folder: ${JSON.stringify(join(folder, "own"))}, path: process.env.PATH }, ${descriptors});
const { stdout } = await sandbox.run({ argv: ["/bin/ls", "/proc/self/fd"], cwd: "/job", env: {}, mounts: [], signal: new AbortController().signal });
process.stdout.write(stdout); await sandbox.close();`;
      // The shell hands a high number on, past the gap that Node stops at.
      return execFileSync(
        "/bin/bash",
        [
          "-c",
          'exec 90</dev/null; exec "$@"',
          "bash",
          process.execPath,
          "--no-warnings",
          "--input-type=module-typescript",
          "-e",
          code,
        ],
        { encoding: "utf8" },
      );
    };
    expect((await inside("{}")).trim().split("\n")).toEqual(["0", "1", "2", "3"]);
    expect((await inside("{ descriptors: false }")).split("\n")).toContain("90");
  });
});

/** Processes that sleep for just so long. */
function sleepers(mark: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, "utf8") === `sleep\0${mark}\0`;
      } catch {
        return false;
      }
    })
    .map(Number);
}

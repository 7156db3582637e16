import { expect, test } from "vitest";
import { seccompFilter } from "./seccomp.ts";

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const X64 = 0xc000003e;
const ARM64 = 0xc00000b7;

/** The kernel's own reading of a filter, as far as ours goes. */
function judge(filter: Buffer, call: { arch: number; number: number; args?: bigint[] }): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number >>> 0, 0);
  data.writeUInt32LE(call.arch >>> 0, 4);
  call.args?.forEach((value, index) => data.writeBigUInt64LE(value, 16 + 8 * index));
  let a = 0;
  for (let at = 0; at < filter.length / 8; at += 1) {
    const code = filter.readUInt16LE(at * 8);
    const [yes, no, k] = [
      filter[at * 8 + 2] ?? 0,
      filter[at * 8 + 3] ?? 0,
      filter.readUInt32LE(at * 8 + 4),
    ];
    if (code === 0x06) return k;
    if (code === 0x20) a = data.readUInt32LE(k);
    else at += (code === 0x15 ? a === k : code === 0x35 ? a >= k : (a & k) !== 0) ? yes : no;
  }
  throw new Error("the filter has no end");
}

const machines = [
  {
    machine: "x64",
    arch: X64,
    other: ARM64,
    n: {
      read: 0,
      mount: 165,
      io_uring: 425,
      ptrace: 101,
      keyctl: 250,
      bpf: 321,
      clone: 56,
      clone3: 435,
      ioctl: 16,
      socket: 41,
      socketpair: 53,
      unshare: 272,
    },
  },
  {
    machine: "arm64",
    arch: ARM64,
    other: X64,
    n: {
      read: 63,
      mount: 40,
      io_uring: 425,
      ptrace: 117,
      keyctl: 219,
      bpf: 280,
      clone: 220,
      clone3: 435,
      ioctl: 29,
      socket: 198,
      socketpair: 199,
      unshare: 97,
    },
  },
] as const;

test.each(machines)(
  "$machine: what opens boxes is refused, the rest is not",
  ({ machine, arch, other, n }) => {
    const filter = seccompFilter({ machine, unixSockets: false });
    const ask = (number: number, ...args: bigint[]): number =>
      judge(filter, { arch, number, args });
    expect(judge(filter, { arch: other, number: n.read })).toBe(KILL);
    for (const name of ["mount", "io_uring", "ptrace", "keyctl", "bpf", "unshare"] as const)
      expect([name, ask(n[name])]).toEqual([name, EPERM]);
    for (const name of ["read", "socketpair"] as const)
      expect([name, ask(n[name], 1n)]).toEqual([name, ALLOW]);
    expect(ask(n.clone3)).toBe(ENOSYS);
    expect(ask(n.clone, 0x1200011n)).toBe(ALLOW);
    for (const flag of [
      0x20000n,
      0x2000000n,
      0x4000000n,
      0x8000000n,
      0x10000000n,
      0x20000000n,
      0x40000000n,
    ])
      expect(ask(n.clone, 17n | flag)).toBe(EPERM);
    for (const request of [0x5412n, 0x541cn, 0x100005412n, 0xffffffff0000541cn])
      expect(ask(n.ioctl, 0n, request)).toBe(EPERM);
    expect(ask(n.ioctl, 0n, 0x5401n)).toBe(ALLOW);
  },
);

test.each(machines)(
  "$machine: sockets of three families, and unix ones only for a browser",
  ({ machine, arch, n }) => {
    for (const unixSockets of [false, true]) {
      const filter = seccompFilter({ machine, unixSockets });
      const allowed = Array.from({ length: 50 }, (_one, family) => family).filter(
        (family) => judge(filter, { arch, number: n.socket, args: [BigInt(family)] }) === ALLOW,
      );
      expect(allowed).toEqual(unixSockets ? [1, 2, 10, 16] : [2, 10, 16]);
    }
  },
);

test("x64: numbers of the x32 interface are refused", () => {
  const filter = seccompFilter({ machine: "x64", unixSockets: true });
  for (const number of [0x40000000, 0x40000000 + 41, 0x400001b4])
    expect(judge(filter, { arch: X64, number })).toBe(EPERM);
});

test("a filter is far below what the kernel takes", () => {
  expect(seccompFilter({ machine: "x64", unixSockets: true }).length / 8).toBeLessThan(300);
});

test.each(machines)(
  "$machine: a program that starts nothing has threads, but no other process",
  ({ machine, arch, n }) => {
    const filter = seccompFilter({ machine, unixSockets: false, startsNothing: true });
    const ask = (number: number, ...args: bigint[]): number =>
      judge(filter, { arch, number, args });
    const THREAD = 0x3d0f00n;
    expect([ask(n.clone, THREAD), ask(n.read)]).toEqual([ALLOW, ALLOW]);
    for (const flags of [17n, 0x4111n, 0x1200011n, 0x100000000n | 17n])
      expect(ask(n.clone, flags)).toBe(EPERM);
    expect(ask(n.clone, THREAD | 0x20000n)).toBe(EPERM);
    for (const number of machine === "x64" ? [57, 58, 322] : [281]) expect(ask(number)).toBe(EPERM);
  },
);

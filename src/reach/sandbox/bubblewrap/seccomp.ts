// The second protection: refuses system calls that no job needs and that have been used to leave sandboxes, as a
// classic BPF program. Calls that only read or compute are allowed; those that mount, trace, load or use another
// address family are not.

type Machine = "x64" | "arm64";

/** Architecture as the kernel names it, and the numbers of the calls, where they differ. */
const AUDIT_ARCH: Record<Machine, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** Refused with EPERM. `null`: the machine does not have the call. */
const DENIED: Record<string, readonly [x64: number | null, arm64: number | null]> = {
  // Mounts, roots and namespaces.
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  setns: [308, 268],
  unshare: [272, 97],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_tree_attr: [467, 467],
  open_by_handle_at: [304, 265],
  // io_uring can open sockets behind a socket filter.
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  // Keyrings are not namespaced.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // Other processes.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  process_madvise: [440, 440],
  move_pages: [279, 239],
  // Large attack surfaces of the kernel.
  bpf: [321, 280],
  userfaultfd: [323, 282],
  perf_event_open: [298, 241],
  fanotify_init: [300, 262],
  lookup_dcookie: [212, 18],
  modify_ldt: [154, null],
  iopl: [172, null],
  ioperm: [173, null],
  // The machine itself.
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  vhangup: [153, 58],
  nfsservctl: [180, 42],
};

/** Calls that start a process, besides clone; `execveat` runs a file that has no name. */
const STARTING: Record<string, readonly [x64: number | null, arm64: number | null]> = {
  fork: [57, null],
  vfork: [58, null],
  execveat: [322, 281],
};

const SPECIAL: Record<"clone" | "clone3" | "ioctl" | "socket", readonly [number, number]> = {
  clone: [56, 220],
  clone3: [435, 435],
  ioctl: [16, 29],
  socket: [41, 198],
};

const EPERM = 1;
const ENOSYS = 38;
const X32_BIT = 0x40000000;
/** New mount, cgroup, uts, ipc, user, pid or net namespace. */
const NAMESPACE_FLAGS = 0x7e020000;
const CLONE_THREAD = 0x00010000;
/** They put characters into a terminal: TIOCSTI, TIOCLINUX. */
const TERMINAL_REQUESTS = [0x5412, 0x541c];
const AF_UNIX = 1;
/** INET, INET6, NETLINK: inside an empty network namespace. Others (vsock!) are not confined by it. */
const FAMILIES = [2, 10, 16];

const RET_ALLOW = 0x7fff0000;
const RET_KILL = 0x80000000;
const retErrno = (errno: number): number => 0x00050000 | errno;
/** Offsets in the kernel's seccomp_data; of an argument only the low half, as the calls themselves read it. */
const NUMBER = 0;
const ARCH = 4;
const argument = (index: number): number => 16 + 8 * index;

type Instruction = readonly [code: number, jumpTrue: number, jumpFalse: number, k: number];
const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const answer = (value: number): Instruction => [0x06, 0, 0, value];
/** Skips `count` instructions when it does not hold. */
const unlessEqual = (value: number, count: number): Instruction => [0x15, 0, count, value];
const unlessAtLeast = (value: number, count: number): Instruction => [0x35, 0, count, value];
const unlessAnyBit = (mask: number, count: number): Instruction => [0x45, 0, count, mask];

export interface SeccompOptions {
  readonly machine: Machine;
  /** A browser talks to its own processes over them. */
  readonly unixSockets: boolean;
  /** Threads, but no other process: a compromised program cannot start another one. */
  readonly startsNothing?: boolean;
}

export function seccompFilter({
  machine,
  unixSockets,
  startsNothing = false,
}: SeccompOptions): Buffer {
  const column = machine === "x64" ? 0 : 1;
  const families = unixSockets ? [AF_UNIX, ...FAMILIES] : FAMILIES;
  /** A call that is checked by one of its arguments; falls through to the end of the block, then allows. */
  const judged = (name: keyof typeof SPECIAL, body: readonly Instruction[]): Instruction[] => [
    unlessEqual(SPECIAL[name][column], body.length),
    ...body,
  ];
  const program: Instruction[] = [
    load(ARCH),
    [0x15, 1, 0, AUDIT_ARCH[machine]],
    answer(RET_KILL),
    load(NUMBER),
    ...(machine === "x64" ? [unlessAtLeast(X32_BIT, 1), answer(retErrno(EPERM))] : []),
    ...Object.values(startsNothing ? { ...DENIED, ...STARTING } : DENIED).flatMap((numbers) => {
      const number = numbers[column];
      return number === null ? [] : [unlessEqual(number, 1), answer(retErrno(EPERM))];
    }),
    // Its flags are behind a pointer; programs fall back to clone, whose flags can be checked.
    unlessEqual(SPECIAL.clone3[column], 1),
    answer(retErrno(ENOSYS)),
    ...judged("clone", [
      load(argument(0)),
      unlessAnyBit(NAMESPACE_FLAGS, 1),
      answer(retErrno(EPERM)),
      ...(startsNothing
        ? [unlessAnyBit(CLONE_THREAD, 1), answer(RET_ALLOW), answer(retErrno(EPERM))]
        : [answer(RET_ALLOW)]),
    ]),
    ...judged("ioctl", [
      load(argument(1)),
      ...TERMINAL_REQUESTS.flatMap((request) => [unlessEqual(request, 1), answer(retErrno(EPERM))]),
      answer(RET_ALLOW),
    ]),
    ...judged("socket", [
      load(argument(0)),
      ...families.flatMap((family) => [unlessEqual(family, 1), answer(RET_ALLOW)]),
      answer(retErrno(EPERM)),
    ]),
    answer(RET_ALLOW),
  ];
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, jumpTrue, jumpFalse, k], index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jumpTrue, index * 8 + 2);
    bytes.writeUInt8(jumpFalse, index * 8 + 3);
    bytes.writeUInt32LE(k >>> 0, index * 8 + 4);
  });
  return bytes;
}

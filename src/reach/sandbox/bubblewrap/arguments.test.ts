import fc from "fast-check";
import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../limits.ts";
import { boxArguments, type BoxPlan } from "./arguments.ts";
import { firstUid } from "./system.ts";

const plan: BoxPlan = {
  system: [
    { at: "/bin", link: "usr/bin" },
    { at: "/lib64", folder: true },
  ],
  limits: DEFAULT_LIMITS,
  mounts: [{ host: "/srv/work", at: "/workspace", access: "rw" }],
  files: [{ fd: 9, at: "/etc/passwd" }],
  env: { TZ: "UTC" },
  cwd: "/workspace",
  fds: { seccomp: 7, status: 6, block: 9 },
};

test("the whole list, in its order", () => {
  expect(boxArguments(plan).join(" ").replaceAll(" --", "\n--")).toMatchInlineSnapshot(`
    "--unshare-user
    --unshare-pid
    --unshare-net
    --unshare-ipc
    --unshare-uts
    --unshare-cgroup-try
    --disable-userns
    --assert-userns-disabled
    --uid 1000
    --gid 1000
    --cap-drop ALL
    --new-session
    --die-with-parent
    --clearenv
    --setenv TZ UTC
    --setenv PATH /usr/local/bin:/usr/bin:/bin
    --setenv HOME /job
    --setenv TMPDIR /tmp
    --setenv LANG C.UTF-8
    --hostname job
    --ro-bind /usr /usr
    --symlink usr/bin /bin
    --ro-bind /lib64 /lib64
    --ro-bind-try /etc/ssl/certs /etc/ssl/certs
    --ro-bind-try /etc/ca-certificates /etc/ca-certificates
    --ro-bind-try /etc/alternatives /etc/alternatives
    --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache
    --ro-bind-try /etc/fonts /etc/fonts
    --proc /proc
    --dev /dev
    --size 16777216
    --perms 1777
    --tmpfs /dev/shm
    --remount-ro /dev
    --size 67108864
    --perms 1777
    --tmpfs /tmp
    --size 67108864
    --perms 0700
    --tmpfs /job
    --bind /srv/work /workspace
    --perms 0555
    --ro-bind-data 9 /etc/passwd
    --chdir /workspace
    --remount-ro /
    --seccomp 7
    --json-status-fd 6
    --block-fd 9"
  `);
});

test("a mount on the private folder takes its place", () => {
  const list = boxArguments({ ...plan, mounts: [{ host: "/srv/job", at: "/job", access: "rw" }] });
  expect(list.filter((one) => one === "/job")).toHaveLength(2);
  expect(list.join(" ")).toContain("--bind /srv/job /job");
});

test("T38: whatever a job says, the list differs in its declared places only", () => {
  const words = boxArguments(plan);
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), (value, at, cwd) => {
      const list = boxArguments({
        ...plan,
        env: { TZ: value },
        cwd,
        mounts: [{ host: "/srv/work", at: `/${at}`, access: "ro" }],
      });
      if (`/${at}` === "/job") return;
      expect(list).toHaveLength(words.length);
      const changed = list.filter((word, index) => word !== words[index]);
      const said = [value, `/${at}`, cwd, "--ro-bind"];
      expect(changed.every((word) => said.includes(word))).toBe(true);
    }),
  );
});

test("users of boxes are apart from those of the system, also within a container", () => {
  expect(firstUid("         0          0 4294967295\n", 0)).toBe(0x70000000);
  expect(firstUid("0 0 4294967295\n", 99_999)).toBeLessThan(0x7fffffff);
  expect(firstUid("0 100000 65536\n", 5)).toBe(60_000 - 1024);
  expect(firstUid("0 1000 1\n1 100000 30000\n", 5)).toBe(30_001 - 1024);
});

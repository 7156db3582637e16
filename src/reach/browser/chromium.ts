// Starts one Chromium in one box. It speaks with us over a pipe, and with the world over the egress guard alone.
import { randomInt } from "node:crypto";
import { chmod, chown, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import type { Browser, BrowserType } from "playwright-core";
import { AppError } from "../../contract/errors.ts";
import type { Sandbox, SandboxLauncher, SandboxMount } from "../sandbox/sandbox.ts";
import { browserMissing, cancelled, firstLine } from "./faults.ts";
import { abortable } from "./abortable.ts";

export interface ChromiumParts {
  readonly sandbox: Sandbox;
  /** Throws browser_missing. */
  readonly program: () => string;
  readonly report: (cause: unknown) => void;
}

export interface RunningChromium {
  readonly browser: Browser;
  /** The same path inside and outside. */
  readonly downloads: string;
  close(): Promise<void>;
}

const LIMITS = {
  memoryBytes: 1_610_612_736,
  // Threads count as processes.
  processes: 1_024,
  cpus: 2,
  tmpBytes: 268_435_456,
  openFiles: 4_096,
  fileBytes: 268_435_456,
  outputBytes: 16_777_216,
};

const PROXY = "http://127.0.0.1:3128";
const FLAGS = [
  `--proxy-server=${PROXY}`,
  // Loopback too: inside the box it is the box's own, and the guard decides about it like about any other place.
  "--proxy-bypass-list=<-loopback>",
  // Names are resolved by the guard.
  "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
  // One name of Chromium's, one of what is built on its content layer.
  "--webrtc-ip-handling-policy=disable_non_proxied_udp",
  "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
  "--disable-quic",
  "--dns-prefetch-disable",
  "--no-pings",
  "--disable-domain-reliability",
  "--disable-client-side-phishing-detection",
  "--disable-gpu",
];
const START_MS = 30_000;
const CLOSE_MS = 3_000;

/** Without `network` there is none. */
export async function startChromium(
  p: ChromiumParts,
  signal: AbortSignal,
  network?: (connection: Duplex) => void,
): Promise<RunningChromium> {
  if (signal.aborted) throw cancelled();
  const { sandbox } = p;
  const program = p.program();
  const { chromium } = await loadPlaywright();
  const folder = await mkdtemp(join(tmpdir(), "ostiary-browser-"));
  let launcher: SandboxLauncher | null = null;
  const removeBox = async () => {
    await launcher?.close().catch(p.report);
    await rm(folder, { recursive: true, force: true }).catch(p.report);
  };
  try {
    const downloads = join(folder, "downloads");
    const owner = ownUser();
    const mounts = await mountsOf({ folder, downloads, program, owner });
    launcher = await sandbox.launcher({
      program,
      cwd: "/tmp",
      env: {},
      mounts,
      limits: LIMITS,
      localSockets: true,
      ...(owner && { owner }),
      ...(network && { network }),
    });
    const starting = chromium.launch({
      executablePath: launcher.path,
      args: FLAGS,
      chromiumSandbox: false,
      downloadsPath: downloads,
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      timeout: START_MS,
    });
    const browser = await abortable(starting, signal).catch((cause: unknown) => {
      // A cancelled start does not wait for the rest.
      starting
        .then(
          (late) => late.close(),
          () => undefined,
        )
        .catch(p.report);
      throw cause;
    });
    const close = async () => {
      await endBrowser(browser).catch(p.report);
      await removeBox();
    };
    return { browser, downloads, close };
  } catch (cause) {
    removeBox().catch(p.report);
    if (cause instanceof AppError || signal.aborted) throw cause;
    p.report(cause);
    throw browserMissing(
      `Chromium did not start: ${firstLine(cause)}`,
      "see ostiary doctor and the server's log",
    );
  }
}

/** A browser that does not want to end is ended with its box. */
function endBrowser(browser: Browser): Promise<unknown> {
  return Promise.race([
    browser.close(),
    new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref()),
  ]);
}

/** The driver keeps its profile below the system's temporary folder, which exists inside under the same name. */
async function mountsOf({
  folder,
  downloads,
  program,
  owner,
}: {
  folder: string;
  downloads: string;
  program: string;
  owner: User | null;
}): Promise<SandboxMount[]> {
  const mounts: SandboxMount[] = [];
  const share = async (host: string, at: string) => {
    await mkdir(host, { mode: 0o700 });
    if (owner) await chown(host, owner.uid, owner.gid);
    mounts.push({ host, at, access: "rw" });
  };
  // Passed through, never listed, by the user of the box.
  if (owner) await chmod(folder, 0o711);
  if (tmpdir() !== "/tmp") await share(join(folder, "tmp"), tmpdir());
  await share(downloads, downloads);
  const home = dirname(program);
  if (!home.startsWith("/usr/")) mounts.push({ host: home, at: home, access: "ro" });
  return mounts;
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

/** Users of browsers, above those that people have. A server that is an ordinary user has only itself. */
const FIRST_UID = 40_000;
const UIDS = 10_000;

function ownUser(): User | null {
  if (process.getuid?.() !== 0) return null;
  const uid = FIRST_UID + randomInt(UIDS);
  return { uid, gid: uid };
}

async function loadPlaywright(): Promise<{ readonly chromium: BrowserType }> {
  try {
    // Takes nearly a second to load, so it is loaded with the first browser.
    return await import("playwright-core");
  } catch {
    throw browserMissing(
      "the package playwright-core is not installed",
      "npm install playwright-core beside Ostiary",
    );
  }
}

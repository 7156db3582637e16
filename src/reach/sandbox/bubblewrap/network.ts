// The one way out of a box: a socket that listens in the sandbox's own network and is accepted by the server outside.
// It is passed once, by our own script, before the program starts; the program has no channel to the server.
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { Server, type Socket } from "node:net";
import type { SandboxJob, SandboxMount } from "../sandbox.ts";
import { JOB, PATH } from "./arguments.ts";
import { CHANNEL_FD } from "./box.ts";

const PROXY = "http://127.0.0.1:3128";
/** The most connections at once; further ones wait. */
const MAX_CONNECTIONS = 256;
export const NODE_AT = "/opt/ostiary/node";
const source = new URL(
  import.meta.url.endsWith(".ts") ? "./inside.ts" : "./inside.js",
  import.meta.url,
);
const SCRIPT_AT = import.meta.url.endsWith(".ts")
  ? "/opt/ostiary/inside.mts"
  : "/opt/ostiary/inside.mjs";

type Networked = Pick<SandboxJob, "argv" | "env" | "mounts" | "files">;

/**
 * The same job with the script before its program. The channel is closed before the program starts, and its variables,
 * which may name code to load, come only then.
 */
export function withDoor<J extends Networked>(job: J): J {
  const proxies = Object.fromEntries(
    ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"].map((name) => [name, PROXY]),
  );
  const env = {
    ...proxies,
    NO_PROXY: "",
    no_proxy: "",
    ...job.env,
    PATH,
    HOME: JOB,
    TMPDIR: "/tmp",
    LANG: "C.UTF-8",
  };
  const node: SandboxMount = { host: process.execPath, at: NODE_AT, access: "ro" };
  const first = `${NODE_AT} --no-warnings ${SCRIPT_AT} 3>&- 4>&- || exit 125; exec ${CHANNEL_FD}>&-; exec "$@"`;
  // `env` treats a word with = as a variable.
  const guard = job.argv[0]?.includes("=") ? ["/bin/sh", "-c", 'exec "$@"', "sh"] : [];
  return {
    ...job,
    argv: [
      ...["/bin/sh", "-c", first, "sh", "/usr/bin/env", "-i"],
      ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
      ...guard,
      ...job.argv,
    ],
    env: {},
    mounts: [...job.mounts.filter(({ at }) => at !== NODE_AT), node],
    files: { ...job.files, [SCRIPT_AT]: readFileSync(source) },
  };
}

/** Accepts what the box connects; `close` ends every connection. */
export function openDoor(
  child: ChildProcess,
  network: NonNullable<SandboxJob["network"]>,
): { close(): void } {
  let door: Server | null = null;
  let closed = false;
  const open = new Set<Socket>();
  child.once("message", (_word, handle) => {
    if (child.connected) child.disconnect();
    if (!(handle instanceof Server)) return child.kill("SIGKILL");
    if (closed) return handle.close();
    door = handle;
    door.maxConnections = MAX_CONNECTIONS;
    door.on("error", () => undefined);
    door.on("connection", (socket) => {
      open.add(socket);
      socket.on("error", () => socket.destroy());
      socket.once("close", () => open.delete(socket));
      network(socket);
    });
  });
  return {
    close() {
      closed = true;
      door?.close();
      for (const socket of open) socket.destroy();
    },
  };
}

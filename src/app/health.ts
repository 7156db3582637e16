// Readiness: every part that a call needs answers. Each row of the report is one part.
import { setTimeout as sleep } from "node:timers/promises";
import type { Health } from "../server/doors.ts";
import type { Allowlist } from "../governance/rules/governance.ts";
import type { Sandbox } from "../reach/sandbox/sandbox.ts";
import { HistoryBehind, LogUnwritable } from "../storage/store/store.ts";
import { FilesLost } from "../util/files/watched-files.ts";
import type { Engines } from "./engines.ts";

const PART_LIMIT_MS = 2_000;

export function healthOf(
  parts: Engines["parts"],
  allowlist: Allowlist,
  sandbox?: () => Pick<Sandbox, "probed" | "status">,
  /** The state of the event sink, null without one. No call needs it. */
  sink?: () => Promise<string | null>,
  /** How many tools are not called at the moment because they failed again and again. */
  failingTools?: () => number,
): Health {
  const look = async ({ name, ping }: Engines["parts"][number]) => {
    const began = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error("too slow")), PART_LIMIT_MS);
    });
    const reason = await Promise.race([ping(), late]).then(
      () => null,
      (cause: unknown) => reasonOf(name, cause),
    );
    clearTimeout(timer);
    const ms = Math.round((performance.now() - began) * 100) / 100;
    return { name, ok: reason === null, ms, ...(reason === null ? {} : { reason }) };
  };
  return {
    async check() {
      const checks = await Promise.all(parts.map(look));
      // An allow list that lets everything through is shown, so that nobody has it by mistake.
      if (allowlist.state === "on" && allowlist.entries.includes("*"))
        checks.push({
          name: "allowlist",
          ok: true,
          ms: 0,
          reason: "TOOL_WHITELIST is *: every tool is on it",
        });
      // Only tools that start programs need the sandbox. They refuse by themselves; the server stays ready.
      const box = sandbox?.();
      if (box !== undefined) {
        await Promise.race([box.probed, sleep(PART_LIMIT_MS, undefined, { ref: false })]);
        const reason = sandboxReason(box.status);
        if (reason !== null) checks.push({ name: "sandbox", ok: true, ms: 0, reason });
      }
      const reason = await sink?.().catch(() => "not known: the store does not answer");
      if (typeof reason === "string") checks.push({ name: "sink", ok: true, ms: 0, reason });
      const failing = failingTools?.() ?? 0;
      // Which ones is for operators: this report is public.
      if (failing > 0)
        checks.push({
          name: "tools",
          ok: true,
          ms: 0,
          reason: `not called for a while because they failed repeatedly: ${failing}; see ostiary_tool_breaker_state`,
        });
      return { ready: checks.every(({ ok }) => ok), checks };
    },
  };
}

/** The report is public, so details of the database error stay in the log. */
function reasonOf(name: string, cause: unknown): string {
  if (cause instanceof LogUnwritable) return `the log cannot be written: ${cause.message}`;
  if (cause instanceof FilesLost) return `${cause.message}: calls are refused`;
  if (cause instanceof HistoryBehind) return "history cannot be written: the log is ahead of it";
  return `the ${name} does not answer`;
}

function sandboxReason({ ready, reason, fix, limits }: Sandbox["status"]): string | null {
  if (!ready)
    return `tools that start programs refuse: ${reason ?? "no sandbox"}${fix === null ? "" : `; ${fix}`}`;
  return limits === "weak"
    ? "weak limits: no control group can be had, so memory is not limited"
    : null;
}

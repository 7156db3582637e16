// Ready means that every part answers which a call needs; each row says which one does not.
import type { Health } from "../entry/doors.ts";
import type { Allowlist } from "../governance/governance.ts";
import type { Engines } from "./engines.ts";

const PART_LIMIT_MS = 2_000;

export function healthOf(parts: Engines["parts"], allowlist: Allowlist): Health {
  const look = async ({ name, ping }: Engines["parts"][number]) => {
    const began = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error("too slow")), PART_LIMIT_MS);
    });
    const ok = await Promise.race([ping(), late]).then(
      () => true,
      () => false,
    );
    clearTimeout(timer);
    const ms = Math.round((performance.now() - began) * 100) / 100;
    return { name, ok, ms, ...(ok ? {} : { reason: `the ${name} does not answer` }) };
  };
  return {
    async check() {
      const checks = await Promise.all(parts.map(look));
      // An allow list that lets everything through is shown: nobody should have it without knowing (C6).
      if (allowlist.state === "on" && allowlist.entries.includes("*"))
        checks.push({ name: "allowlist", ok: true, ms: 0, reason: "TOOL_WHITELIST is *: every tool is on it" }); // prettier-ignore
      return { ready: checks.every(({ ok }) => ok), checks };
    },
  };
}

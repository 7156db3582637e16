// The powers a test run grants: what node has, and no network.
import * as crypto from "node:crypto";
import type { RegoPowers } from "../../src/policy/rego/index.ts";

export function regoPowers(env: Readonly<Record<string, string>>): RegoPowers {
  return {
    nowNs: () => BigInt(Date.now()) * 1_000_000n,
    randomBytes: (n) => crypto.randomBytes(n),
    env,
  };
}

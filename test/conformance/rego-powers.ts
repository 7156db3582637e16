// The powers a test run grants: what node has, and no network.
import * as crypto from "node:crypto";
import { isIP } from "node:net";
import { nodeCrypto } from "@ostiary/rego/node-crypto";
import type { RegoPowers } from "@ostiary/rego";

export function regoPowers(env: Readonly<Record<string, string>>): RegoPowers {
  return {
    nowNs: () => BigInt(Date.now()) * 1_000_000n,
    randomBytes: (n) => crypto.randomBytes(n),
    crypto: nodeCrypto,
    // No resolver is asked: addresses are themselves, and the only name in the cases is localhost.
    lookup: (host) => (isIP(host) > 0 ? [host] : host === "localhost" ? ["127.0.0.1", "::1"] : []),
    env,
  };
}

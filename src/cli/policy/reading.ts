// How modules are read, and what a policy on the command line may use: this machine's clock and cryptography, no
// network.
import { randomBytes } from "node:crypto";
import { nodeCrypto } from "@ostiary/rego/node-crypto";
import type { RegoPowers } from "@ostiary/rego";

export interface ReadOptions {
  /** For modules that do not name a version. */
  readonly version: "v0" | "v1";
}

export function powers(print: (line: string) => void): RegoPowers {
  return {
    nowNs: () => BigInt(Date.now()) * 1_000_000n,
    randomBytes: (n) => randomBytes(n),
    crypto: nodeCrypto,
    print,
  };
}

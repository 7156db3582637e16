// The probes by the number of their check.
import type { Probe } from "../figure.ts";

export const PROBES: Readonly<Record<number, () => Promise<{ readonly default: Probe }>>> = {
  9: () => import("./revoked.ts"),
  16: () => import("./clock.ts"),
  17: () => import("./sigterm.ts"),
  21: () => import("./nth-failure.ts"),
  25: () => import("./slow.ts"),
  26: () => import("./bodies.ts"),
  27: () => import("./json-corpus.ts"),
  28: () => import("./json-odd.ts"),
  30: () => import("./json-schema.ts"),
  31: () => import("./fuzz.ts"),
  32: () => import("./raw-http.ts"),
  34: () => import("./swap.ts"),
  40: () => import("./routes.ts"),
  47: () => import("./guessing.ts"),
  48: () => import("./dependencies.ts"),
};

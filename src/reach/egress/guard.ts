// Opens the guard: one check and one way to connect, for single requests and for pools.
import { checkUrl, systemResolve, type Resolve } from "./check.ts";
import type { Egress } from "./egress.ts";
import type { ConnectSocket } from "./dial.ts";
import type { ProxyLimits } from "./proxy.ts";
import type { RequestLimits } from "./request.ts";

export interface EgressLimits extends RequestLimits, ProxyLimits {
  readonly resolveMs: number;
}

export interface EgressOptions {
  /** How names are resolved; by the system by default. */
  readonly resolve?: Resolve | undefined;
  /** Ports this server itself listens on. */
  readonly ownPorts?: (() => readonly number[]) | undefined;
  /** Further certificates to trust, PEM. */
  readonly ca?: readonly string[] | undefined;
  /** How a connection is made, once its address has been checked. */
  readonly connect?: ConnectSocket | undefined;
  readonly limits?: Partial<EgressLimits> | undefined;
}

type Proxy = Pick<Egress, "serve" | "close">;

const LIMITS: EgressLimits = {
  resolveMs: 5_000,
  connectMs: 10_000,
  headersMs: 30_000,
  idleMs: 30_000,
  totalMs: 300_000,
  headerBytes: 32_768,
  tunnelIdleMs: 300_000,
  tunnelBytes: 1_073_741_824,
  connections: 128,
};

export function openEgress(options: EgressOptions = {}): Egress {
  const limits = { ...LIMITS, ...options.limits };
  const { resolve = systemResolve, ownPorts = () => [], ca, connect } = options;
  const check: Egress["check"] = (url, subject) =>
    checkUrl(url, subject, { resolve, resolveMs: limits.resolveMs, ownPorts });
  // Loaded with the first use: Node's HTTP and TLS clients take megabytes that an idle server need not hold.
  let proxy: Promise<Proxy> | null = null;
  const proxyNow = (): Promise<Proxy> =>
    (proxy ??= import("./proxy.ts").then(({ openProxy }) =>
      openProxy({ check, limits, ca, connect }),
    ));
  return {
    check,
    async request(request, subject) {
      const { requestThrough } = await import("./request.ts");
      return requestThrough(request, subject, { check, limits, ca, connect });
    },
    serve(connection, subject) {
      connection.on("error", () => undefined);
      proxyNow()
        .then((ready) => ready.serve(connection, subject))
        .catch(() => connection.destroy());
    },
    async pooled(rulesOf) {
      const { openPool } = await import("./pool.ts");
      return openPool(rulesOf, { check, limits, ca, connect });
    },
    close: async () => (await proxy)?.close(),
  };
}

// Host and Origin allow-lists in front of every route: a web page must not reach a local server by DNS rebinding.
import type { IncomingMessage } from "node:http";
import { AppError } from "../../contract/errors.ts";

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

export interface Guard {
  /** Throws FORBIDDEN / bad_host or bad_origin. An absent Origin passes, `null` does not. */
  check(req: Pick<IncomingMessage, "headers">): void;
}

/** `*` in the list admits every host name, for a server behind a proxy that checks it. */
export function createGuard(allowedHosts: readonly string[], boundHost: string): Guard {
  const names = new Set(
    [...LOOPBACK, bracketed(boundHost), ...allowedHosts].map((name) => name.toLowerCase()),
  );
  const any = names.has("*");
  const known = (host: string): boolean => any || names.has(nameOf(host));
  return {
    check({ headers }) {
      const { host, origin } = headers;
      if (host === undefined || !known(host)) {
        throw new AppError("FORBIDDEN", "bad_host", "this server does not answer to that Host", {
          remedy: "use the address the server printed, or add the name to server.allowedHosts",
        });
      }
      if (origin !== undefined && !known(hostOfOrigin(origin))) {
        throw new AppError(
          "FORBIDDEN",
          "bad_origin",
          "requests from that Origin are not accepted",
          {
            remedy:
              "open the console under the server's own address, or add the name to server.allowedHosts",
          },
        );
      }
    },
  };
}

/** Host without its port, in lower case. */
function nameOf(host: string): string {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]@/\\\s]+)(?::\d{1,5})?$/.exec(host);
  return match?.[1]?.toLowerCase() ?? "";
}

function hostOfOrigin(origin: string): string {
  const match = /^https?:\/\/([^/]+)$/.exec(origin);
  return match?.[1] ?? "";
}

function bracketed(host: string): string {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}

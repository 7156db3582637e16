// `spicedb://:token@host:port` (TLS) or `spicedb+insecure://…`, with `?consistency=full` so that every answer is
// computed from the newest state.
import { AppError } from "../../../contract/errors.ts";

export interface SpicedbAddress {
  readonly target: string;
  readonly token: string;
  readonly tls: boolean;
  /** Every answer from the newest state; slower, and right even when other programs write to the server. */
  readonly alwaysFresh: boolean;
}

const DEFAULT_PORT = "50051";

export function parseAddress(address: string): SpicedbAddress {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || url.hostname === "") throw unusable("expected spicedb://:token@host:port");
  const { protocol, hostname, port, username, password, pathname, searchParams } = url;
  if (protocol !== "spicedb:" && protocol !== "spicedb+insecure:")
    throw unusable(`unknown scheme ${protocol}//`);
  const token = decoded(password === "" ? username : password);
  if (token === "") throw unusable("the preshared key is missing before the @");
  if (pathname !== "" && pathname !== "/") throw unusable("a path is not understood");
  for (const [name, value] of searchParams)
    if (name !== "consistency" || value !== "full")
      throw unusable(`unknown option ${name}=${value}; known: consistency=full`);
  return {
    target: `${hostname}:${port === "" ? DEFAULT_PORT : port}`,
    token,
    tls: protocol === "spicedb:",
    alwaysFresh: searchParams.has("consistency"),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw unusable("the preshared key must be percent-encoded");
  }
}

function unusable(why: string): AppError {
  return new AppError(
    "BAD_REQUEST",
    "invalid_input",
    `the address of SpiceDB cannot be used: ${why}`,
    {
      remedy:
        "relations: spicedb://:<preshared key>@host:port, or spicedb+insecure://… without TLS",
    },
  );
}

// Servers and their tools as administrators see them. Nothing here is secret: references stand for what is.
import type { Fault } from "../../../contract/errors.ts";
import { AppError, faultOf } from "../../../contract/errors.ts";
import type {
  ForeignDefinition,
  ServerRow,
  ServerToolRow,
  ServerToolState,
  Store,
} from "../../../storage/store/store.ts";
import { reveal } from "../scan/hidden.ts";
import type { ServerToolView, ServerView } from "./server-admin.ts";
import { UpstreamFault, type ServerHealth } from "../upstream.ts";

const NO_TOOLS: Readonly<Record<ServerToolState, number>> = {
  pending: 0,
  approved: 0,
  changed: 0,
  removed: 0,
  rejected: 0,
  refused: 0,
};

export function serverView(
  row: ServerRow,
  health: ServerHealth | null,
  tools: readonly ServerToolRow[],
): ServerView {
  const counts = { ...NO_TOOLS };
  for (const { state } of tools) counts[state]++;
  return { ...row, health, tools: counts };
}

export function toolView(row: ServerToolRow, definition: ForeignDefinition | null): ServerToolView {
  return {
    ...row,
    upstreamName: reveal(row.upstreamName),
    title: definition?.title == null ? null : reveal(definition.title),
    description: reveal(definition?.description ?? ""),
  };
}

/** With the words of what is offered now. */
export async function toolViews(
  store: Pick<Store, "serverTools">,
  rows: readonly ServerToolRow[],
): Promise<ServerToolView[]> {
  const versions = await Promise.all(
    rows.map(({ server, name, seenPin }) => store.serverTools.version(server, name, seenPin)),
  );
  return rows.map((row, at) => toolView(row, versions[at]?.definition ?? null));
}

/** Why a server could not be reached or listed, in the words of every other fault. */
export function unreachableFault(
  { name, transport }: Pick<ServerRow, "name" | "transport">,
  cause: unknown,
): Fault {
  if (cause instanceof AppError) return cause.fault;
  if (!(cause instanceof UpstreamFault)) return faultOf(cause);
  const message = `server ${name}: ${reveal(cause.message)}`;
  if (cause.kind === "unauthorized")
    return {
      code: "UNAUTHORIZED",
      reason: "upstream_login",
      message,
      remedy: `give it a credential (ostiary servers credential ${name} NAME) or log in: ostiary servers login ${name}`,
    };
  if (cause.kind === "protocol" || cause.kind === "too_large" || cause.kind === "rpc")
    return {
      code: "EXECUTION_FAILED",
      reason: "upstream_protocol",
      message,
      remedy: `see what it says: ostiary servers logs ${name}`,
    };
  const isBoxed = transport.kind === "stdio" && transport.isolation === "sandbox";
  const remedy =
    (isBoxed ? missingInBox(message) : null) ?? `see what it says: ostiary servers logs ${name}`;
  return { code: "UNAVAILABLE", reason: "upstream_unavailable", message, remedy };
}

const NO_NETWORK =
  /ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED|getaddrinfo|name resolution|Name or service not known|[Nn]etwork is unreachable|urlopen error|fetch failed|ProxyError|Tunnel connection failed/;
const NO_MODULE = /No module named|ModuleNotFoundError/;
const NO_FILE =
  /No such file or directory|ENOENT|EACCES|Permission denied|Cannot find (?:module|package)|Read-only file system|EROFS/;

/** What programs say that miss something a box does not show, and the option that makes it do so. */
function missingInBox(words: string): string | null {
  if (NO_MODULE.test(words))
    return "start it with the Python of its virtual environment (<folder>/bin/python), or show it the folder of the module: --folder <path>";
  if (NO_NETWORK.test(words))
    return "a program in the sandbox reaches no host unless it is named: --network <host>";
  if (NO_FILE.test(words))
    return "a program in the sandbox sees only what it is shown: --folder <path>, or --folder <path>:rw to write";
  return null;
}

// Connects to a server and reviews what it offers, for administrators who wait and in the background.
import type { Fault } from "../../../contract/errors.ts";
import type { ServerRow, ServerToolRow } from "../../../storage/store/store.ts";
import { assessOffer } from "../definitions/assess.ts";
import { TakenNames } from "../definitions/names.ts";
import type { ServerAdminPowers } from "./powers.ts";
import type { ServerCheck } from "./server-admin.ts";
import { serverView, toolViews, unreachableFault } from "./views.ts";

export interface ServerChecks {
  /** A server that does not answer is reported in the result, not thrown. */
  check(row: ServerRow, signal: AbortSignal, notes?: readonly string[]): Promise<ServerCheck>;
  /** Connects and lists without storing anything. */
  dryRun(
    row: ServerRow,
    secrets: Readonly<Record<string, string>>,
    notes: readonly string[],
    signal: AbortSignal,
  ): Promise<ServerCheck>;
  /** Checks a server in the background, once no further request for it has come for a moment. */
  checkSoon(server: string): void;
  close(): void;
}

type Powers = Pick<
  ServerAdminPowers,
  "store" | "upstreams" | "credentials" | "review" | "removeFolders" | "now" | "report"
>;

const CHECK_MS = 30_000;
const SETTLE_MS = 300;

/** `applyServers` takes over the servers as the store has them. */
export function createServerChecks(p: Powers, applyServers: () => Promise<void>): ServerChecks {
  const { servers, serverTools } = p.store;
  const waiting = new Map<string, NodeJS.Timeout>();

  const listDefinitions = (row: ServerRow, signal: AbortSignal) =>
    p.upstreams.definitions(row.name, AbortSignal.any([signal, AbortSignal.timeout(CHECK_MS)]));

  const reviewTools = async (
    row: ServerRow,
    signal: AbortSignal,
  ): Promise<{ rows: readonly ServerToolRow[]; fault: Fault | null }> => {
    try {
      const definitions = await listDefinitions(row, signal);
      return { rows: await p.review.recordOffer(row, definitions), fault: null };
    } catch (cause) {
      if (signal.aborted) throw cause;
      return { rows: await serverTools.list(row.name), fault: unreachableFault(row, cause) };
    }
  };

  async function checkNow(server: string): Promise<void> {
    const row = await servers.get(server);
    if (!row?.enabled) return;
    const { fault } = await reviewTools(row, AbortSignal.timeout(CHECK_MS));
    if (fault) p.report({ server, fault }, "a server could not be looked at");
  }

  return {
    async check(row, signal, notes = []) {
      const { rows, fault } = row.enabled
        ? await reviewTools(row, signal)
        : { rows: await serverTools.list(row.name), fault: null };
      return {
        server: serverView(row, p.upstreams.health(row.name), rows),
        fault,
        tools: await toolViews(p.store, rows),
        notes,
      };
    },
    async dryRun(row, secrets, notes, signal) {
      try {
        await sealSecrets(p.credentials, row, secrets);
        await p.upstreams.apply([...(await servers.list()), row]);
        const definitions = await listDefinitions(row, signal);
        const rows = definitions.map((definition) =>
          assessOffer(
            { server: row.name, definition, former: null, at: p.now() },
            new TakenNames([]),
          ),
        );
        const tools = rows.map((one, at) => ({
          ...one,
          title: definitions[at]?.title ?? null,
          description: definitions[at]?.description ?? "",
        }));
        const server = serverView(row, p.upstreams.health(row.name), rows);
        return { server, fault: null, tools, notes };
      } catch (cause) {
        if (signal.aborted) throw cause;
        const server = serverView(row, p.upstreams.health(row.name), []);
        return { server, fault: unreachableFault(row, cause), tools: [], notes };
      } finally {
        for (const name of Object.keys(secrets)) await p.credentials.remove(row, "", name);
        await applyServers();
        if (row.transport.kind === "stdio") await p.removeFolders(row.name);
      }
    },
    checkSoon(server) {
      clearTimeout(waiting.get(server));
      const timer = setTimeout(() => {
        waiting.delete(server);
        checkNow(server).catch((cause: unknown) =>
          p.report({ err: cause, server }, "a server could not be looked at"),
        );
      }, SETTLE_MS);
      waiting.set(server, timer.unref());
    },
    close() {
      for (const timer of waiting.values()) clearTimeout(timer);
      waiting.clear();
    },
  };
}

/** Stores values that all requests to the server may refer to. */
export async function sealSecrets(
  credentials: Pick<ServerAdminPowers["credentials"], "put">,
  row: ServerRow,
  secrets: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, value] of Object.entries(secrets)) await credentials.put(row, "", name, value);
}

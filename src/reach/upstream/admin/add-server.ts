// New servers: one that an administrator describes, or all of an AI client's configuration file.
import type { Caller } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import { CATEGORIES } from "../../../contract/tool.ts";
import { AlreadyExists, type ServerRow } from "../../../storage/store/store.ts";
import { isServerName } from "../definitions/names.ts";
import { assertAdmin } from "./access.ts";
import { auditFacts } from "./audit.ts";
import { invalid, readSettings, readTransport } from "./input.ts";
import type { ServerAdminPowers } from "./powers.ts";
import type { ImportedEntry, NewServer, ServerAdmin } from "./server-admin.ts";
import { sealSecrets, type ServerChecks } from "./server-checks.ts";

interface AddPowers extends Pick<
  ServerAdminPowers,
  "store" | "credentials" | "resolveProgram" | "now" | "note"
> {
  readonly checks: Pick<ServerChecks, "check" | "dryRun">;
  /** Makes a change of the stored servers take effect, here and on other instances. */
  readonly publish: () => Promise<void>;
}

const MAX_PER_TENANT = 200;

export function createServerAdding(p: AddPowers): Pick<ServerAdmin, "add" | "checkNew" | "import"> {
  const { servers } = p.store;

  const add: ServerAdmin["add"] = async (actor, made, signal) => {
    const { row, secrets, notes } = await readNewServer(actor, made, p);
    if (made.dryRun) return p.checks.dryRun(row, secrets, notes, signal);
    try {
      await servers.create(row);
    } catch (cause) {
      throw cause instanceof AlreadyExists ? nameTaken(row.name) : cause;
    }
    await sealSecrets(p.credentials, row, secrets);
    await p.note("upstream.added", actor, auditFacts(row, { credentials: Object.keys(secrets) }));
    await p.publish();
    return p.checks.check(row, signal, notes);
  };

  return {
    add,
    async checkNew(actor, made) {
      await readNewServer(actor, made, p);
    },
    async import(actor, text, { only, dryRun, ...box }, signal) {
      assertAdmin(actor);
      const { importServers } = await import("./import-clients.ts");
      const { servers: found, faults } = importServers(text);
      const wanted = found.filter(
        ({ name, called }) => only === undefined || only.includes(name) || only.includes(called),
      );
      const done: ImportedEntry[] = [];
      for (const { called, needs, ignored, ...made } of wanted) {
        const { name } = made;
        try {
          const transport =
            made.transport.kind === "stdio" ? { ...made.transport, ...box } : made.transport;
          const tried = await add(actor, { ...made, transport, dryRun }, signal);
          done.push({ name, called, needs, ignored, tried, fault: null });
        } catch (cause) {
          if (!(cause instanceof AppError)) throw cause;
          done.push({ name, called, needs, ignored, tried: null, fault: cause.fault });
        }
      }
      return { servers: done, faults };
    },
  };
}

async function readNewServer(
  actor: Caller,
  made: NewServer,
  p: AddPowers,
): Promise<{
  row: ServerRow;
  secrets: Readonly<Record<string, string>>;
  notes: readonly string[];
}> {
  const { servers } = p.store;
  assertAdmin(actor);
  if (!isServerName(made.name))
    throw invalid(
      "/name",
      `expected a name in [a-z][a-z0-9_-], at most 32, none of ${CATEGORIES.join(", ")}; got ${JSON.stringify(made.name)}`,
      "choose another name",
    );
  if (await servers.get(made.name)) throw nameTaken(made.name);
  if ((await servers.list(actor.tenantId)).length >= MAX_PER_TENANT)
    throw new AppError(
      "CONFLICT",
      "already_exists",
      `at most ${MAX_PER_TENANT} servers per tenant, and there are as many`,
      { remedy: "remove one that nobody needs" },
    );
  const { transport, secrets, notes } = await readTransport(made.transport, p.resolveProgram);
  const now = p.now();
  const row: ServerRow = {
    name: made.name,
    tenantId: actor.tenantId,
    description: made.description ?? "",
    transport,
    settings: readSettings(made.settings),
    enabled: made.enabled ?? true,
    origin: "api",
    createdBy: actor.userId,
    createdAt: now,
    updatedAt: now,
  };
  return { row, secrets: { ...secrets, ...made.credentials }, notes };
}

const nameTaken = (name: string): AppError =>
  new AppError("CONFLICT", "already_exists", `a server '${name}' exists already`, {
    remedy: `choose another name, or change it: ostiary servers set ${name}`,
  });

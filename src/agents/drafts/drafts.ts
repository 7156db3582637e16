// Drafts tools: named, checked, tested and pinned, but unlinked, so that no one can call one before an administrator
// has reviewed it. A new version waits beside the one that is linked.
import type { Caller, Json, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { DraftedTool } from "../../contract/powers/agents.ts";
import type { Tool } from "../../contract/tool.ts";
import { draftHash } from "../../reach/code/draft-hash.ts";
import {
  AlreadyExists,
  type Action,
  type DraftDefinition,
  type Store,
  type ToolDraftRow,
} from "../../storage/store/store.ts";
import type { Registry } from "../../tools/registry.ts";
import { canonicalJson } from "../../util/json/json.ts";
import type { Ids } from "../../util/ids.ts";
import { checkDraft } from "./draft-checks.ts";
import { createDraftedTool } from "./drafted-tool.ts";
import { findingsOf } from "./findings.ts";
import type { TestBox } from "./test-box.ts";

export interface Drafts {
  create(
    caller: Caller,
    draft: DraftedTool,
    signal: AbortSignal,
  ): Promise<{ readonly row: ToolDraftRow; readonly tool: Tool; readonly warnings: string[] }>;
}

export interface DraftsPowers {
  readonly registry: Pick<Registry, "get" | "all" | "register" | "put">;
  readonly toolDrafts: Pick<Store["toolDrafts"], "create" | "versions">;
  readonly box: TestBox;
  readonly holdsSecret: (text: string) => boolean;
  readonly note: (
    action: Action,
    who: Pick<Caller, "tenantId" | "userId">,
    body: JsonObject,
  ) => Promise<void>;
  readonly ids: Ids;
  readonly now: () => number;
}

const FIRST_VERSION = "1.0.0";

export function createDrafts(p: DraftsPowers): Drafts {
  return {
    async create(caller, draft, signal) {
      const checked = checkDraft(draft, p.holdsSecret);
      const { name, definition, program, tests } = checked;
      const former = await formerOf(caller, name, draft.replaces, p);
      const at = p.now();
      const untested: ToolDraftRow = {
        id: p.ids.handle("dft", at),
        name,
        number: (former?.number ?? 0) + 1,
        version: former ? versionAfter(former, definition) : FIRST_VERSION,
        replaces: former?.version ?? null,
        tenantId: caller.tenantId,
        userId: caller.userId,
        state: "pending_link",
        hash: draftHash(checked),
        definition,
        program,
        tests,
        results: [],
        testedAt: at,
        findings: findingsOf({
          name,
          definition,
          program,
          tests: tests.length,
          known: p.registry.all().map((tool) => tool.name),
        }),
        proposedRisk: draft.risk ?? null,
        terms: null,
        reason: null,
        createdAt: at,
        decidedAt: null,
        decidedBy: null,
      };
      const tool = createDraftedTool(untested);
      await p.box.checkSyntax(checked, { caller, tool, signal });
      const row = { ...untested, results: await p.box.run(checked, { caller, tool, signal }) };
      await keep(row, p);
      await p.note("tool.drafted", caller, draftFacts(row));
      // Beside a linked version it waits in the store only.
      const there = p.registry.get(name);
      if (!there) await p.registry.register(tool);
      else if (there.linkState !== "linked") await p.registry.put([tool]);
      return { row, tool, warnings: warningsOf(row) };
    },
  };
}

/** The newest version, when this draft says that it replaces exactly that; null: the name is free. */
async function formerOf(
  { tenantId }: Caller,
  name: string,
  replaces: string | undefined,
  { registry, toolDrafts }: DraftsPowers,
): Promise<ToolDraftRow | null> {
  const [newest] = await toolDrafts.versions(name);
  const there = registry.get(name) ?? registry.get(name.replace("/", "_"));
  if (!newest) {
    if (there) throw taken(name, "choose another name");
    if (replaces === undefined) return null;
    throw new AppError("CONFLICT", "stale", `there is no ${name} to replace`, {
      remedy: "draft it without replaces",
    });
  }
  // All tenants share one name space; no details of another tenant's tool are disclosed.
  if (newest.tenantId !== tenantId || (there && there.name !== name))
    throw taken(name, "choose another name");
  if (replaces === undefined)
    throw taken(
      name,
      `choose another name, or replace it explicitly: replaces: ${JSON.stringify(newest.version)}`,
    );
  if (replaces !== newest.version)
    throw new AppError(
      "CONFLICT",
      "stale",
      `the newest version of ${name} is ${newest.version}, got replaces ${JSON.stringify(replaces)}`,
      { remedy: "look at the newest version, then say that you replace it" },
    );
  return newest;
}

/** Other schemas are another major version: callers may have to change. */
function versionAfter(former: ToolDraftRow, definition: DraftDefinition): string {
  const [major = 1, minor = 0] = former.version.split(".").map(Number);
  const schemas = ({ inputSchema, outputSchema }: DraftDefinition): Json => [
    inputSchema,
    outputSchema,
  ];
  return canonicalJson(schemas(former.definition)) === canonicalJson(schemas(definition))
    ? `${major}.${minor + 1}.0`
    : `${major + 1}.0.0`;
}

async function keep(row: ToolDraftRow, { toolDrafts }: DraftsPowers): Promise<void> {
  try {
    await toolDrafts.create(row);
  } catch (cause) {
    if (cause instanceof AlreadyExists)
      throw taken(row.name, "somebody drafted it at the same moment: look at it, then replace it");
    throw cause;
  }
}

/** The facts of a version for the audit record; the program itself is in the store under its hash. */
export function draftFacts({
  id,
  name,
  version,
  replaces,
  hash,
  results,
}: ToolDraftRow): JsonObject {
  const passed = results.filter(({ status }) => status === "passed").length;
  return { draftId: id, tool: name, version, replaces, hash, tests: results.length, passed };
}

function warningsOf({ results, findings, proposedRisk }: ToolDraftRow): string[] {
  const failed = results.filter(({ status }) => status !== "passed").length;
  const grave = findings.filter(({ severity }) => severity !== "info");
  return [
    "it cannot be called: an administrator must review and link it first",
    ...(failed > 0 ? [`${failed} of ${results.length} tests did not pass`] : []),
    ...(proposedRisk !== null && proposedRisk !== "dangerous"
      ? [
          `risk ${proposedRisk} is only a proposal: it counts as dangerous until an administrator lowers it`,
        ]
      : []),
    ...grave.map(
      ({ path, line, message }) => `${path}${line === null ? "" : ` line ${line}`} ${message}`,
    ),
  ];
}

function taken(name: string, remedy: string): AppError {
  return new AppError(
    "CONFLICT",
    "already_exists",
    `the tool name ${JSON.stringify(name)} is taken`,
    { remedy },
  );
}

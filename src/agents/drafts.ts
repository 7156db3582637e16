// Tools that agents draft: named, checked and pinned like any other, but without a runner and unlinked, so that nobody
// can call one before an administrator has looked at it.
import type { Caller, JsonObject } from "../contract/call.ts";
import { AppError } from "../contract/errors.ts";
import { AlreadyExists, type Store } from "../storage/store/store.ts";
import type { Registry } from "../tools/registry.ts";
import { CATEGORIES, freezeTool, type Risk, type Tool } from "../contract/tool.ts";
import { schemaFault } from "./caller-schema.ts";

export interface ToolDraft {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  readonly config: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly risk?: Risk;
}

export interface Drafts {
  create(caller: Caller, draft: ToolDraft): Promise<{ tool: Tool; warnings: string[] }>;
}

export interface DraftsPowers {
  readonly registry: Pick<Registry, "get" | "register">;
  readonly toolDrafts: Store["toolDrafts"];
  readonly now: () => number;
}

const NAME = /^([a-z][a-z0-9_]{0,31})\/([a-z][a-z0-9_]{0,39})$/;
const VERSION = "1.0.0";

export function createDrafts(p: DraftsPowers): Drafts {
  return {
    async create(caller, draft) {
      const category = categoryOf(draft.name);
      requireSchema("/schema", draft.schema);
      if (draft.outputSchema !== undefined) requireSchema("/outputSchema", draft.outputSchema);
      const tool = freezeTool({
        id: draft.name,
        name: draft.name,
        wireName: draft.name.replace("/", "_"),
        displayName: draft.name,
        description: draft.description,
        category,
        provider: "external",
        inputSchema: { ...draft.schema, additionalProperties: false },
        outputSchema: draft.outputSchema ?? null,
        // The proposal is shown to its reviewer only.
        risk: "dangerous",
        effects: "system_dangerous",
        requiresApproval: true,
        sandbox: "rw",
        requiresSandbox: true,
        escalations: [],
        timeoutMs: 60_000,
        rateLimitPerHour: null,
        tags: ["drafted"],
        version: VERSION,
        requiredPermissions: [],
        deprecated: null,
        aliases: [],
        examples: [],
        idempotent: false,
        openWorld: true,
        cacheable: false,
        enabled: true,
        linkState: "pending_link",
        touches: [],
        meters: [],
        route: null,
        native: null,
      });
      if (p.registry.get(tool.name) ?? p.registry.get(tool.wireName)) throw taken(draft.name);
      const { tenantId, userId } = caller;
      try {
        await p.toolDrafts.create({
          name: tool.name,
          tenantId,
          userId,
          version: VERSION,
          pin: tool.pin,
          config: draft.config,
          proposedRisk: draft.risk ?? null,
          createdAt: p.now(),
        });
      } catch (cause) {
        throw cause instanceof AlreadyExists ? taken(draft.name) : cause;
      }
      await p.registry.register(tool);
      const warnings = [
        "it cannot be called: an administrator must link it first, and this release has no runner for drafted tools yet",
      ];
      if (draft.risk !== undefined && draft.risk !== "dangerous")
        warnings.push(
          `risk ${draft.risk} is only a proposal: it counts as dangerous until an administrator lowers it`,
        );
      return { tool, warnings };
    },
  };
}

function categoryOf(name: string): string {
  const category = NAME.exec(name)?.[1];
  if (category !== undefined && (CATEGORIES as readonly string[]).includes(category))
    return category;
  throw new AppError(
    "EXECUTION_FAILED",
    "name_invalid",
    `${JSON.stringify(name)} is no name for a tool`,
    {
      remedy: `expected category/name in a-z, 0-9 and _, the category one of ${CATEGORIES.join(", ")}`,
    },
  );
}

function requireSchema(path: string, schema: JsonObject): void {
  const fault = schemaFault(schema);
  if (fault !== null)
    throw new AppError("EXECUTION_FAILED", "schema_invalid", `${path.slice(1)}: ${fault}`, {
      remedy:
        "send a JSON Schema of type object, at most 10 levels deep, without references and patterns",
    });
}

function taken(name: string): AppError {
  return new AppError(
    "CONFLICT",
    "already_exists",
    `the tool name ${JSON.stringify(name)} is taken`,
    { remedy: "choose another name" },
  );
}

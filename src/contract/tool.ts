// What a tool is, how one is defined, and the powers it may be given. Nothing here runs anything.
import { createHash } from "node:crypto";
import { z } from "zod";
import {
  PartialError,
  type Json,
  type JsonObject,
  type Level,
  type Progress,
  type Trace,
} from "./call.ts";
import { AppError, type Code, type Fault } from "./errors.ts";
import { canonicalJson } from "../util/json/json.ts";
import type { PowerName, ToolPowers } from "./powers.ts";

export const CATEGORIES = [
  "browser",
  "file",
  "shell",
  "web",
  "database",
  "ai",
  "system",
  "workflow",
  "memory",
  "agent",
] as const;
export type Category = (typeof CATEGORIES)[number];

export const RISKS = ["safe", "moderate", "dangerous"] as const;
export type Risk = (typeof RISKS)[number];
/** People may also say it with the words of other houses. */
export const RISK_WORDS = [...RISKS, "low", "medium", "high"] as const;
const SYNONYMS = { low: "safe", medium: "moderate", high: "dangerous" } as const;
export const riskOf = (word: (typeof RISK_WORDS)[number]): Risk =>
  word === "low" || word === "medium" || word === "high" ? SYNONYMS[word] : word;

export const EFFECTS = [
  "read_only",
  "network",
  "system_write",
  "system_dangerous",
  "essential_health_check",
] as const;
/** The governance class: what a call may do to the world. */
export type Effects = (typeof EFFECTS)[number];

/** The level a risk asks for. */
export const LEVEL_FOR: Record<Risk, Level> = {
  safe: "execute_basic",
  moderate: "execute_advanced",
  dangerous: "admin",
};

/** drafted: a program that was written for this installation and reviewed here; it only runs in the sandbox. */
export type Provider = "native" | "mcp" | "external" | "drafted";

export const SANDBOX_PROFILES = ["ro", "rw", "net", "rw+net"] as const;
/**
 * How a tool is confined: `ro` workspace read-only, `rw` writable, both without network; `net` private scratch only and
 * network through the egress guard; `rw+net` both. Where it cannot be had, the tool refuses.
 */
export type SandboxProfile = (typeof SANDBOX_PROFILES)[number];

/** An argument that raises what a call counts as. It can never lower it. */
export interface Escalation {
  /** JSON pointer; it bites when the value equals `equals`, or, without one, when the argument is there. */
  readonly argument: string;
  readonly equals?: Json;
  readonly risk?: Risk;
  readonly effects?: Effects;
  readonly sandbox?: SandboxProfile;
  /** A person is asked in every mode. */
  readonly approval?: true;
}

/** A capability: plain data, frozen once registered. `native` is present for tools of this process. */
export interface Tool {
  readonly id: string;
  readonly name: string;
  readonly wireName: string;
  readonly displayName: string;
  readonly description: string;
  readonly category: string;
  readonly provider: Provider;
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject | null;
  readonly risk: Risk;
  readonly effects: Effects;
  readonly requiresApproval: boolean;
  /** The profile it runs under; null: in this process, through guarded powers. */
  readonly sandbox: SandboxProfile | null;
  readonly requiresSandbox: boolean;
  readonly escalations: readonly Escalation[];
  readonly timeoutMs: number;
  readonly rateLimitPerHour: number | null;
  readonly tags: readonly string[];
  readonly version: string;
  readonly requiredPermissions: readonly string[];
  readonly deprecated: { readonly since: string; readonly replacement?: string } | null;
  readonly aliases: readonly string[];
  readonly examples: readonly JsonObject[];
  readonly idempotent: boolean;
  readonly openWorld: boolean;
  /** The same arguments give the same answer for a while. */
  readonly cacheable: boolean;
  readonly enabled: boolean;
  readonly linkState: "linked" | "pending_link";
  /** Arguments that reach outside: judged by the rules of governance before the tool runs. */
  readonly touches: readonly Touch[];
  /** What a call uses of a budget besides itself. */
  readonly meters: readonly Meter[];
  /** Where it lives, when that is not here. */
  readonly route: Route | null;
  /** The program behind it, when it was drafted here. */
  readonly drafted?: DraftedProgram;
  /** SHA-256 over name, description, schemas, annotations, route and drafted program. */
  readonly pin: string;
  readonly native: NativeTool | null;
}

/** The way to a tool of an upstream server. */
export interface Route {
  readonly server: string;
  /** `tools/call`, `resources/read` and the like; `http` for an operation of an API. */
  readonly method: string;
  /** What the server itself calls it. */
  readonly name: string;
  /** Of the definition that was approved: a call goes out only while the server offers exactly that one. */
  readonly pin: string;
  /** Of an API: how the operation is called. */
  readonly operation: JsonObject | null;
}

/** What a drafted program may reach besides its own box; as little as possible unless an administrator grants more. */
export interface DraftedAccess {
  readonly workspace: "none" | "ro" | "rw";
  /** Through the egress guard, within its rules; empty: no network. */
  readonly hosts: readonly string[];
}

/** Which program runs: a call goes out only while exactly this one is linked. */
export interface DraftedProgram extends DraftedAccess {
  readonly version: string;
  /** SHA-256 over its definition and source. */
  readonly hash: string;
}

/** Its schemas were written by somebody else: they are interpreted with bounds, never compiled. */
export const hasForeignSchema = ({ route, drafted }: Pick<Tool, "route" | "drafted">): boolean =>
  route !== null || drafted !== undefined;

/** One argument that names something outside. A list of texts is judged entry by entry. */
export interface Touch {
  /** JSON pointer, e.g. `/path`. An absent argument is not judged unless `absentMeans` stands in for it. */
  readonly argument: string;
  /**
   * command: a line of shell; argv: a program and its arguments as a list; env: variables by name; network: true lets a
   * program reach out.
   */
  readonly kind: "path" | "command" | "argv" | "url" | "text" | "env" | "network";
  /** Of a path. */
  readonly access?: "read" | "write";
  /** Of a path that is written: nothing but an empty folder comes there, which asks for less than content. */
  readonly makes?: "folder";
  /** Of a path: a link at its end is meant as itself, not as what it leads to. */
  readonly itself?: true;
  readonly absentMeans?: string;
  /** Of a command: JSON pointer of the folder that its relative paths start from. */
  readonly from?: string;
}

/**
 * A budget metric a call uses: a number, or what an argument says. The tool settles it with `note({ usage: { tokens:
 * 12 } })`.
 */
export interface Meter {
  readonly metric: string;
  readonly estimate: number | { readonly argument: string; readonly otherwise: number };
}

/** What every handler gets about its call. */
export interface ToolContext {
  readonly executionId: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly sessionId: string | null;
  readonly permissions: readonly string[];
  readonly metadata: JsonObject | null;
  /** Fires on cancel, timeout and shutdown; `signal.reason` is the CancelReason. */
  readonly signal: AbortSignal;
  readonly deadline: number;
  readonly trace: Trace;
  progress(progress: Progress): void;
  /** Notes on the record: files touched, hosts, untrusted and the like. */
  note(metadata: JsonObject): void;
}

export interface NativeTool {
  readonly needs: readonly PowerName[];
  run(input: JsonObject, powers: Partial<ToolPowers>, context: ToolContext): Promise<Json> | Json;
}

export interface ToolDefinition<I extends z.ZodType, O extends z.ZodType, N extends PowerName> {
  name: string;
  displayName?: string;
  description: string;
  input: I;
  output: O;
  risk: Risk;
  effects: Effects;
  needs: readonly N[];
  timeoutMs: number;
  examples: readonly z.input<I>[];
  tags?: readonly string[];
  version?: string;
  aliases?: readonly string[];
  requiredPermissions?: readonly string[];
  requiresApproval?: boolean;
  sandbox?: SandboxProfile;
  escalations?: readonly Escalation[];
  rateLimitPerHour?: number;
  deprecated?: { since: string; replacement?: string };
  touches?: readonly Touch[];
  meters?: readonly Meter[];
  /** Default: read_only and health checks may be repeated, others not. */
  idempotent?: boolean;
  openWorld?: boolean;
  cacheable?: boolean;
  /** Default: the name with an underscore. */
  wireName?: string;
  /** It answers what another tool answered, so it has no output schema of its own. */
  passesOn?: true;
  run(
    input: z.output<I>,
    powers: Pick<ToolPowers, N>,
    context: ToolContext,
  ): Promise<z.input<O>> | z.input<O>;
}

const NAME = /^([a-z][a-z0-9_]{0,31})\/([a-z][a-z0-9_]{0,39})$/;

/** Validates a definition and freezes it into a Tool. Throws with every fault, since a bad tool must not start. */
export function defineTool<I extends z.ZodType, O extends z.ZodType, const N extends PowerName>(
  d: ToolDefinition<I, O, N>,
): Tool {
  const match = NAME.exec(d.name);
  if (!match)
    throw new TypeError(`tool name ${JSON.stringify(d.name)}: expected category/name in [a-z0-9_]`);
  if (!d.description.trim()) throw new TypeError(`tool ${d.name}: description is empty`);
  if (!RISKS.includes(d.risk))
    throw new TypeError(`tool ${d.name}: risk must be one of ${RISKS.join(", ")}`);
  const readOnly = d.effects === "read_only" || d.effects === "essential_health_check";
  const inputSchema = schemaOf(d.input, "input");
  const outputSchema = d.passesOn ? null : schemaOf(d.output, "output");
  return freezeTool({
    id: d.name,
    name: d.name,
    wireName: d.wireName ?? d.name.replace("/", "_"),
    displayName: d.displayName ?? titleOf(match[2] ?? d.name),
    description: d.description,
    category: match[1] ?? "",
    provider: "native",
    inputSchema,
    outputSchema,
    risk: d.risk,
    effects: d.effects,
    requiresApproval: d.requiresApproval ?? false,
    sandbox: d.sandbox ?? null,
    requiresSandbox: d.sandbox !== undefined,
    escalations: d.escalations ?? [],
    timeoutMs: d.timeoutMs,
    rateLimitPerHour: d.rateLimitPerHour ?? null,
    tags: d.tags ?? [],
    version: d.version ?? "1.0.0",
    requiredPermissions: d.requiredPermissions ?? [],
    deprecated: d.deprecated ?? null,
    aliases: d.aliases ?? [],
    examples: d.examples as readonly JsonObject[],
    idempotent: d.idempotent ?? readOnly,
    openWorld: d.openWorld ?? d.effects === "network",
    cacheable: d.cacheable ?? false,
    enabled: true,
    linkState: "linked",
    touches: d.touches ?? [],
    meters: d.meters ?? [],
    route: null,
    native: {
      needs: d.needs,
      run: (input, powers, context) =>
        d.run(parsed(d.input, input), powers as Pick<ToolPowers, N>, context) as
          Promise<Json> | Json,
    },
  });
}

/**
 * Applies the schema's defaults. The gate has validated the input already; the two validators differ only in corners
 * (code points against UTF-16 units), and those are the caller's fault too.
 */
function parsed<I extends z.ZodType>(schema: I, input: JsonObject): z.output<I> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const errors = result.error.issues.map((issue) => ({
    path: `/${issue.path.join("/")}`,
    message: issue.message,
  }));
  throw toolError("invalid_arguments", "Input validation failed", { code: "BAD_REQUEST", errors });
}

/** Computes the pin and freezes deeply: a definition is immutable once it is registered. */
export function freezeTool(tool: Omit<Tool, "pin">): Tool {
  const {
    name,
    description,
    inputSchema,
    outputSchema,
    risk,
    effects,
    idempotent,
    openWorld,
    route,
    drafted,
  } = tool;
  const facts = {
    name,
    description,
    inputSchema,
    outputSchema,
    annotations: { risk, effects, idempotent, openWorld },
    ...(route ? { route: { ...route } } : {}),
    ...(drafted ? { drafted: { ...drafted } } : {}),
  };
  const pin = createHash("sha256").update(canonicalJson(facts)).digest("hex");
  return deepFreeze({ ...tool, pin });
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): JsonObject {
  const json = z.toJSONSchema(schema, { io, target: "draft-2020-12" }) as Record<string, Json>;
  delete json["$schema"];
  return json;
}

function titleOf(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}

/** How a tool says what went wrong: a reason slug, a text for people, what to do, and what it has all the same. */
export function toolError(
  reason: string,
  message: string,
  extra: { code?: Code; partial?: Json } & Omit<Fault, "code" | "reason" | "message"> = {},
): AppError {
  const { code = "EXECUTION_FAILED", partial = null, ...rest } = extra;
  const fault = { code, reason, message, ...rest };
  return partial === null
    ? new AppError(code, reason, message, rest)
    : new PartialError(fault, partial);
}

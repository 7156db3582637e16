// What a call would do, without doing it: the tool itself runs, with powers that change nothing.
import type { Call, Mode } from "../../../../contract/call.ts";
import type { Effect, EffectOf } from "../../../../contract/effect.ts";
import { AppError } from "../../../../contract/errors.ts";
import type { PowerName, ToolPowers } from "../../../../contract/powers.ts";
import type { ToolContext } from "../../../../contract/tool.ts";
import type { FileRules, Governance } from "../../../../governance/rules/governance.ts";
import type { Databases } from "../../../../reach/databases/database.ts";
import type { Store } from "../../../../storage/store/store.ts";
import type { Masker } from "../../../../util/secrets/masker.ts";
import type { PowerSources } from "../index.ts";
import { previewFiles, type PreviewedFiles } from "./files.ts";
import { NoPreview } from "./no-preview.ts";
import { apiEffect, NotSent, previewFetch } from "./requests.ts";
import { previewDatabase, type PreviewedRows } from "./rows.ts";

export interface EffectSettings {
  readonly rulesFor: (call: Call) => Promise<FileRules>;
  /** Where copies of files are made: private to the server. */
  readonly folder: () => Promise<string>;
  readonly databases: Databases;
  readonly governance: Pick<Governance, "hostsFor" | "judgeCommands">;
  readonly mode: () => Mode;
  /** Powers that reach nothing. */
  readonly harmless: Pick<PowerSources, "compute" | "clock" | "secrets">;
  readonly servers: Pick<Store["servers"], "get">;
  readonly masker: Pick<Masker, "valueInSlices">;
}

/** For one preview, over all that it opens. */
const MAX_MS = 10_000;
const WATCHED = ["files", "database", "fetch"] as const;
const HARMLESS = ["compute", "clock", "secrets"] as const;
const PREVIEWED: ReadonlySet<PowerName> = new Set([...WATCHED, ...HARMLESS]);

export function effectPreview(p: EffectSettings): EffectOf {
  return async (given, touching) => {
    const signal = AbortSignal.any([given.signal, AbortSignal.timeout(MAX_MS)]);
    const call = { ...given, signal };
    try {
      const effect = await effectOf(call, touching, p);
      if (effect.kind === "files" || effect.kind === "database") return effect;
      return await p.masker.valueInSlices({ ...effect } as never);
    } catch (cause) {
      return withoutEffect(cause, given.signal, p);
    }
  };
}

async function effectOf(call: Call, touching: boolean, p: EffectSettings): Promise<Effect> {
  const { tool, caller, sessionId, egress } = call;
  if (tool === null) throw new NoPreview("there is no such tool any more");
  const commands = await p.governance.judgeCommands({
    caller,
    tool,
    arguments: call.arguments,
    sessionId,
    mode: p.mode(),
    ...(egress ? { egress } : {}),
  });
  if (commands.length > 0) return { kind: "shell", commands };
  if (!touching) throw new NoPreview("the gate would refuse the call, so nothing was looked at");
  const { route, native } = tool;
  if (route?.method === "http") return apiEffect(call, route, p.servers);
  if (route) throw new NoPreview(`it runs on the server ${route.server}, which offers no preview`);
  if (!native?.needs.some((name) => (WATCHED as readonly PowerName[]).includes(name)))
    throw new NoPreview(`${tool.name} changes no file, no database and calls no address by itself`);
  const unknown = native.needs.find((name) => !PREVIEWED.has(name));
  if (unknown !== undefined)
    throw new NoPreview(`${tool.name} uses ${unknown}, and what comes of that is not known before`);
  if (tool.effects === "read_only" && !native.needs.includes("database"))
    throw new NoPreview(`${tool.name} only reads`);
  return runWatched(call, native, p);
}

/** The tool does its work on copies, in a transaction that is taken back, or up to its first request. */
async function runWatched(
  call: Call,
  native: NonNullable<NonNullable<Call["tool"]>["native"]>,
  p: EffectSettings,
): Promise<Effect> {
  const { signal } = call;
  const powers: Partial<ToolPowers> = {};
  let files: PreviewedFiles | null = null;
  let rows: PreviewedRows | null = null;
  const compute = p.harmless.compute(call, signal);
  try {
    for (const name of HARMLESS)
      if (native.needs.includes(name))
        Object.assign(powers, { [name]: p.harmless[name](call, signal) });
    if (native.needs.includes("fetch")) powers.fetch = previewFetch(p.governance.hostsFor(call));
    if (native.needs.includes("database")) {
      rows = previewDatabase(p.databases, call, signal, p.masker);
      powers.database = rows.power;
    }
    if (native.needs.includes("files")) {
      const { masker } = p;
      const settings = { compute, masker, executionId: call.id, signal };
      files = await previewFiles(await p.rulesFor(call), await p.folder(), settings);
      powers.files = files.power;
    }
    await untilAborted(
      Promise.resolve(native.run(call.arguments, powers, contextOf(call))),
      signal,
    );
    const effect = rows?.effect() ?? (files ? await files.effect() : null);
    return effect ?? { kind: "none", reason: "it would do nothing" };
  } catch (cause) {
    if (cause instanceof NotSent) return cause.effect;
    const leaves = cause instanceof AppError && files ? await files.effect() : null;
    if (!(cause instanceof AppError) || !leaves || leaves.changes.length === 0) throw cause;
    if (UNTOLD.has(cause.code)) throw cause;
    return { kind: "fails", fault: cause.fault, leaves };
  } finally {
    await files?.close();
  }
}

/** A tool that ignores its signal keeps no caller waiting. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", stop));
}

const contextOf = (call: Call): ToolContext => ({
  executionId: call.id,
  tenantId: call.caller.tenantId,
  userId: call.caller.userId,
  sessionId: call.sessionId,
  permissions: call.caller.scopes,
  metadata: call.metadata,
  signal: call.signal,
  deadline: call.startedAt + call.timeoutMs,
  trace: call.trace,
  progress: () => undefined,
  note: () => undefined,
});

/** What ends for want of time or means says nothing about the call; any other refusal is the tool's own. */
const UNTOLD: ReadonlySet<string> = new Set(["UNAVAILABLE", "TIMEOUT", "CANCELLED"]);

async function withoutEffect(
  cause: unknown,
  given: AbortSignal,
  { masker }: Pick<EffectSettings, "masker">,
): Promise<Effect> {
  // The requester has disconnected.
  given.throwIfAborted();
  const masked = async <T extends Effect>(effect: T): Promise<T> =>
    await masker.valueInSlices({ ...effect } as never);
  if (cause instanceof NoPreview) return masked({ kind: "none", reason: cause.message });
  if (cause instanceof AppError) {
    const { code, message } = cause.fault;
    return UNTOLD.has(code)
      ? masked({ kind: "none", reason: `it could not be found out: ${message}` })
      : masked({ kind: "fails", fault: cause.fault });
  }
  if (cause instanceof DOMException && cause.name === "TimeoutError")
    return { kind: "none", reason: `it could not be found out within ${MAX_MS / 1000} s` };
  throw cause;
}

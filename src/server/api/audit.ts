// The audit ledger: search, proof, export, archive. Administrators only, each of their own tenant.
import { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { z } from "zod";
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { LiveVerdict } from "../../storage/ledger/live.ts";
import type { LedgerRow } from "../../storage/store/store.ts";
import type { Doors } from "../doors.ts";
import { downloadEndpoint, endpoint } from "./endpoint.ts";
import { executionId, iso, isoOrNull, moment, served, time, toMs, toolName } from "./shapes.ts";

const seq = z.int().min(1).max(Number.MAX_SAFE_INTEGER);
const hash = z.string().describe("SHA-256, hex");
const FORMATS = ["ndjson", "cloudevents"] as const;
const DAY_MS = 86_400_000;

const event = z.object({
  seq: z.int().describe("Number in the whole log"),
  at: time,
  action: z.string(),
  actor: z.string(),
  executionId: z.string().nullable(),
  body: z.unknown(),
  instanceId: z.string().nullable(),
  n: z
    .int()
    .nullable()
    .describe("Number in its chain; null in events that are older than the chain"),
  prevHash: hash.nullable(),
  hash: hash.nullable(),
});

export const searchEvents = endpoint({
  name: "audit.searchEvents",
  method: "GET",
  path: "/audit",
  access: "admin",
  summary: "Events of the ledger of the caller's tenant, newest first, filtered",
  input: z
    .strictObject({
      action: z
        .string()
        .regex(/^[a-z_.]{1,64}\*?$/, "expected an action, perhaps with * at its end")
        .optional()
        .describe("`tool.execution.denied`, or `tool.*`"),
      actor: z.string().min(1).max(256).optional(),
      tool: toolName.optional(),
      execution: executionId.optional(),
      trace: z
        .string()
        .regex(/^[0-9a-f]{32}$/, "expected 32 hexadecimal digits")
        .optional()
        .describe("Events that name this trace"),
      since: moment.optional(),
      until: moment.optional().describe("A date alone means its whole day"),
      text: z.string().min(1).max(256).optional().describe("Anywhere in the event, in any case"),
      order: z.enum(["newest", "oldest"]).default("newest"),
      limit: z.int().min(1).max(100).default(50),
      after: z
        .int()
        .min(0)
        .max(Number.MAX_SAFE_INTEGER)
        .optional()
        .describe("`next` of the page before"),
    })
    .refine(
      ({ since, until }) =>
        since === undefined || until === undefined || toMs(since) <= toMs(until, "end"),
      { path: ["until"], message: "lies before since" },
    ),
  output: z.object({
    success: served,
    events: z.array(event),
    searched: z.int().describe("Events that were searched; one request searches 20,000 at most"),
    next: z.int().nullable().describe("There are more events: ask again with `after`"),
    archivedTo: z
      .int()
      .describe("Events up to this number lie in archived files and were not looked at"),
  }),
  async run(input, { caller, doors }) {
    const { action, actor, tool, execution, trace, since, until, text, order, limit, after } =
      input;
    const known = tool === undefined ? null : doors.registry.get(tool);
    const answer = await doors.ledger.search(
      {
        tenantId: caller.tenantId,
        ...(action === undefined ? {} : { action }),
        ...(actor === undefined ? {} : { actor }),
        ...(tool === undefined ? {} : { tool: known?.name ?? tool }),
        ...(execution === undefined ? {} : { executionId: execution }),
        ...(trace === undefined ? {} : { traceId: trace }),
        ...(since === undefined ? {} : { since: toMs(since) }),
        ...(until === undefined ? {} : { until: toMs(until, "end") }),
        ...(text === undefined ? {} : { text }),
      },
      { order, limit, ...(after === undefined ? {} : { after }) },
    );
    return { success: true as const, ...answer, events: answer.events.map(eventView) };
  },
});

function eventView(row: LedgerRow): z.input<typeof event> {
  const {
    seq: number,
    at,
    action,
    actor,
    executionId: id,
    body,
    instanceId,
    n,
    prevHash,
    hash: digest,
  } = row;
  return {
    seq: number,
    at: iso(at),
    action,
    actor,
    executionId: id,
    body: bodyOf(body),
    instanceId,
    n,
    prevHash,
    hash: digest,
  };
}

/** One that was changed by hand is shown as it is. */
function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

export const getLedgerHead = endpoint({
  name: "audit.getLedgerHead",
  method: "GET",
  path: "/audit/head",
  access: "admin",
  summary:
    "The newest event of the caller's tenant, and the key that signs checkpoints and exports",
  input: z.strictObject({}),
  output: z.object({
    success: served,
    seq: z.int().describe("0: nothing yet"),
    hash: hash.nullable(),
    at: time.nullable(),
    keyId: z.string(),
    publicKey: z.string().describe("PEM"),
  }),
  async run(_input, { caller, doors }) {
    const { events } = await doors.ledger.search(
      { tenantId: caller.tenantId },
      { order: "newest", limit: 1 },
    );
    const [newest] = events;
    const { keyId, publicKeyPem: publicKey } = doors.ledger;
    return {
      success: true as const,
      seq: newest?.seq ?? 0,
      hash: newest?.hash ?? null,
      at: newest ? iso(newest.at) : null,
      keyId,
      publicKey,
    };
  },
});

export const exportLedger = downloadEndpoint({
  name: "audit.exportLedger",
  method: "GET",
  path: "/audit/export",
  access: "admin",
  summary:
    "The ledger as lines of JSON: a signed manifest, then events and checkpoints; it proves itself",
  contentType: "application/x-ndjson",
  input: z
    .strictObject({
      from: seq
        .optional()
        .describe("First number; default: the beginning, archived files included"),
      to: seq.optional().describe("Last number; default: the newest when the request came"),
      since: moment.optional().describe("Begins with the first event that is not older"),
      tenant: z
        .string()
        .min(1)
        .max(64)
        .optional()
        .describe("One tenant's chains alone; default: all that the caller may see"),
      format: z.enum(FORMATS).default("ndjson"),
      gzip: z.boolean().default(false),
    })
    .refine(({ from, to }) => from === undefined || to === undefined || from <= to, {
      path: ["to"],
      message: "lies before from",
    }),
  async download({ from, to, since, tenant, format, gzip }, { caller, doors }) {
    const tenantId = await scopeOf(doors, caller, tenant);
    await doors.audit("audit.exported", caller, {
      from: from ?? null,
      to: to ?? null,
      since: since ?? null,
      tenant: tenantId,
      format,
    });
    const { manifest, bytes } = await doors.ledger.export({
      tenantId,
      format,
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
      ...(since === undefined ? {} : { since: toMs(since) }),
    });
    const name = `ledger-${manifest.from}-${manifest.to}.ndjson${gzip ? ".gz" : ""}`;
    return {
      headers: {
        "Content-Type": gzip ? "application/gzip" : "application/x-ndjson; charset=utf-8",
        "Content-Disposition": `attachment; filename="${name}"`,
      },
      body: gzip ? Readable.from(bytes(), { objectMode: false }).pipe(createGzip()) : bytes(),
    };
  },
});

const history = z.object({
  agrees: z.boolean(),
  checked: z.int().describe("Executions in history"),
  missing: z.int().describe("Executions of the log that history lacks"),
  extra: z.int().describe("Executions that the log knows nothing of"),
  different: z.int().describe("Executions that differ from the log"),
  sums: z.int().describe("Sums that are not those of their executions"),
  ids: z.array(z.string()).describe("The first 20 executions that do not agree"),
});

export const verifyLedger = endpoint({
  name: "audit.verifyLedger",
  method: "POST",
  path: "/audit/verify",
  access: "admin",
  summary:
    "Read the whole ledger again, archived files and the checkpoints outside of the database included, and compare history with it",
  input: z.strictObject({
    anchors: z
      .array(z.string().max(1_000_000))
      .max(1000)
      .default([])
      .describe("Checkpoint lines that were kept elsewhere: what they name must be there"),
  }),
  output: z.object({
    success: served,
    ok: z.boolean(),
    events: z.int(),
    chains: z.int().optional(),
    checkpoints: z.int().optional(),
    unchained: z
      .int()
      .optional()
      .describe("Events that are older than the chain: there, but not proven"),
    from: z.int().optional(),
    to: z.int().optional(),
    head: hash.nullable().optional().describe("Of the newest event"),
    keyIds: z.array(z.string()).optional().describe("Who signed"),
    anchored: z.int().optional().describe("Heads named by anchors that were found"),
    unanchored: z
      .int()
      .optional()
      .describe("Heads named by anchors that lie outside of what was read"),
    rollbacks: z
      .array(z.int())
      .optional()
      .describe("Events that say that the database had been put back to an older state"),
    segments: z.int().optional().describe("Archived stretches"),
    segmentsElsewhere: z
      .int()
      .optional()
      .describe("Of these, those whose file is not on this machine"),
    fault: z
      .object({ seq: z.int().nullable(), message: z.string() })
      .optional()
      .describe("The first fault"),
    history: history
      .nullable()
      .describe(
        "Whether history agrees with the log; null: not compared, as the log itself is broken",
      ),
  }),
  async run({ anchors }, { caller, doors }) {
    const verdict = await doors.ledger.verify({
      tenantId: await scopeOf(doors, caller, undefined),
      anchors,
    });
    if (!verdict.ok)
      doors.log.error(
        { fault: verdict.fault },
        verdict.history ? "history does not agree with the ledger" : "the ledger is broken",
      );
    return { success: true as const, ...verdictView(verdict) };
  },
});

export const getVerification = endpoint({
  name: "audit.getVerification",
  method: "GET",
  path: "/audit/verify/progress",
  access: "admin",
  summary: "How far the verification of the ledger is, or how the last one ended",
  input: z.strictObject({}),
  output: z.object({
    success: served,
    state: z
      .enum(["idle", "running", "done", "failed"])
      .describe("idle: none since this server started; failed: it could not be read to its end"),
    seq: z.int().describe("Events read up to this number; at `head` history is compared"),
    head: z.int().describe("Number of the last event that is read"),
    startedAt: time.nullable(),
    endedAt: time.nullable(),
    ok: z.boolean().nullable().describe("null until it is done"),
    fault: z.string().nullable().describe("The first fault"),
  }),
  async run(_input, { caller, doors }) {
    const scope = await scopeOf(doors, caller, undefined);
    const { startedAt, endedAt, ...rest } = doors.ledger.verification(scope);
    return {
      success: true as const,
      ...rest,
      startedAt: isoOrNull(startedAt),
      endedAt: isoOrNull(endedAt),
    };
  },
});

function verdictView(verdict: LiveVerdict) {
  const history = verdict.history && { ...verdict.history, ids: [...verdict.history.ids] };
  if (!verdict.ok)
    return {
      ok: false,
      events: verdict.events,
      history,
      fault: { seq: verdict.fault.seq, message: verdict.fault.message },
    };
  const {
    events,
    chains,
    checkpoints,
    unchained,
    from,
    to,
    head,
    keyIds,
    anchored,
    unanchored,
    rollbacks,
  } = verdict.findings;
  return {
    ok: true,
    history,
    events,
    chains,
    checkpoints,
    unchained,
    from,
    to,
    head,
    keyIds: [...keyIds],
    anchored,
    unanchored,
    rollbacks: [...rollbacks],
    segments: verdict.segments,
    segmentsElsewhere: verdict.segmentsElsewhere,
  };
}

export const makeCheckpoint = endpoint({
  name: "audit.makeCheckpoint",
  method: "POST",
  path: "/audit/checkpoints",
  access: "admin",
  summary: "A signed line that says where every chain of this server stands, to be kept elsewhere",
  input: z.strictObject({}),
  output: z.object({
    success: served,
    line: z.string().describe("One line of JSON, to be kept exactly as it is"),
  }),
  async run(_input, { caller, doors }) {
    await wholeHouse(doors, caller);
    const line = await doors.ledger.checkpoint();
    if (line === null)
      throw new AppError("UNAVAILABLE", "engine_unavailable", "the ledger is empty", {
        remedy: "try again after the first event",
      });
    return { success: true as const, line };
  },
});

export const archiveEvents = endpoint({
  name: "audit.archiveEvents",
  method: "POST",
  path: "/audit/archive",
  access: "admin",
  summary: "Move the beginning of the ledger from the database into files that prove themselves",
  input: z
    .strictObject({
      before: moment.optional().describe("Only what is older"),
      keepDays: z.int().min(1).max(36_500).optional().describe("Instead: keep so many days"),
      dryRun: z.boolean().default(false).describe("Only say what would be moved"),
    })
    .refine(({ before, keepDays }) => (before === undefined) !== (keepDays === undefined), {
      path: ["before"],
      message: "give before or keepDays, one of them",
    }),
  output: z.object({
    success: served,
    dryRun: z.boolean(),
    from: z.int().nullable(),
    to: z.int().nullable().describe("Null: nothing to move"),
    events: z.int(),
    files: z.array(z.string()).describe("In the folder `archive` of the data directory"),
    reason: z.string().describe("Why it ends there"),
  }),
  async run({ before, keepDays = 0, dryRun }, { caller, doors }) {
    await wholeHouse(doors, caller);
    const limit = before === undefined ? doors.now() - keepDays * DAY_MS : toMs(before);
    const done = await doors.ledger.archive({ before: limit, dryRun });
    return { success: true as const, dryRun, ...done, files: [...done.files] };
  },
});

/** The only tenant's administrators have the whole ledger; those of one among several have their own chains. */
async function scopeOf(
  doors: Doors,
  caller: Caller,
  tenant: string | undefined,
): Promise<string | null> {
  if ((await doors.soleTenant()) === caller.tenantId) return tenant ?? null;
  if (tenant === undefined || tenant === caller.tenantId) return caller.tenantId;
  throw new AppError(
    "NOT_FOUND",
    "unknown",
    `there is no tenant ${JSON.stringify(tenant)} for this caller`,
    { remedy: "leave it out: then it is the caller's own" },
  );
}

async function wholeHouse(doors: Doors, caller: Caller): Promise<void> {
  if ((await scopeOf(doors, caller, undefined)) === null) return;
  throw new AppError("FORBIDDEN", "admin_only", "this concerns the chains of all tenants", {
    remedy: "ask the operator of the server: ostiary audit, on its machine",
  });
}

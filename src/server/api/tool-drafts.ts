// Drafted tools: what waits, what was linked, and what administrators decide about it.
import { z } from "zod";
import { EFFECTS, RISK_WORDS, RISKS, riskOf } from "../../contract/tool.ts";
import { DRAFT_STATES, type ToolDraftRow } from "../../storage/store/store.ts";
import type { DraftReview } from "../../agents/drafts/draft-admin.ts";
import { draftInput } from "../../tools/agent/shared/draft.ts";
import { endpoint } from "./endpoint.ts";
import { iso, isoOrNull, jsonObject, time } from "./shapes.ts";

const id = z.string().min(1).max(128).describe("Of one version");
const one = z.strictObject({ id });
const access = z.enum(["none", "ro", "rw"]);
const host = z.string().min(1).max(253);

const terms = z.object({
  risk: z.enum(RISKS),
  effects: z.enum(EFFECTS),
  requiresApproval: z.boolean(),
  workspace: access,
  hosts: z.array(z.string()),
});

const draft = z.object({
  id: z.string(),
  name: z.string(),
  version: z.string(),
  replaces: z.string().nullable(),
  author: z.string(),
  state: z.enum(DRAFT_STATES).describe("retired: it was linked once, and can be again"),
  hash: z.string().describe("SHA-256 over name, definition and program"),
  description: z.string(),
  kind: z.string(),
  language: z.string().nullable(),
  tests: z.object({ passed: z.int(), failed: z.int(), notRun: z.int() }),
  findings: z.int(),
  proposedRisk: z.enum(RISKS).nullable(),
  terms: terms.nullable().describe("Of the last link"),
  reason: z.string().nullable(),
  createdAt: time,
  decidedAt: time.nullable(),
  decidedBy: z.string().nullable(),
});

const review = draft.extend({
  inputSchema: jsonObject,
  outputSchema: jsonObject.nullable(),
  examples: z.array(jsonObject),
  timeoutSeconds: z.number(),
  program: jsonObject.describe("The whole of it"),
  testResults: z.array(
    z.object({
      test: jsonObject,
      status: z.enum(["passed", "failed", "not_run"]),
      ms: z.int(),
      message: z.string().nullable(),
    }),
  ),
  testedAt: time,
  findingList: z.array(
    z.object({
      severity: z.enum(["info", "warning", "danger"]),
      path: z.string(),
      line: z.int().nullable(),
      message: z.string(),
    }),
  ),
  text: z.string().describe("Definition and program as text, hidden characters written out"),
  comparedWith: z.string().nullable().describe("The linked version, else the one before"),
  diff: z.array(z.string()),
  versions: z.array(draft),
});

function shown(row: ToolDraftRow): z.input<typeof draft> {
  const { definition, program, results, findings, terms: linked } = row;
  const count = (status: string): number =>
    results.filter((result) => result.status === status).length;
  return {
    id: row.id,
    name: row.name,
    version: row.version,
    replaces: row.replaces,
    author: row.userId,
    state: row.state,
    hash: row.hash,
    description: definition.description,
    kind: program.kind,
    language: program.kind === "code" ? program.language : null,
    tests: { passed: count("passed"), failed: count("failed"), notRun: count("not_run") },
    findings: findings.length,
    proposedRisk: row.proposedRisk,
    terms: linked && { ...linked, hosts: [...linked.hosts] },
    reason: row.reason,
    createdAt: iso(row.createdAt),
    decidedAt: isoOrNull(row.decidedAt),
    decidedBy: row.decidedBy,
  };
}

function reviewShown({ row, text, before, diff, versions }: DraftReview): z.input<typeof review> {
  const { definition, program, tests, results, findings } = row;
  return {
    ...shown(row),
    inputSchema: definition.inputSchema,
    outputSchema: definition.outputSchema,
    examples: [...definition.examples],
    timeoutSeconds: definition.timeoutMs / 1_000,
    program: { ...program },
    testResults: results.map((result, at) => ({ ...result, test: { ...tests[at] } })),
    testedAt: iso(row.testedAt),
    findingList: findings.map((finding) => ({ ...finding })),
    text,
    comparedWith: before,
    diff: [...diff],
    versions: versions.map(shown),
  };
}

export const listToolDrafts = endpoint({
  name: "toolDrafts.listToolDrafts",
  method: "GET",
  path: "/tool-drafts",
  access: "admin",
  summary: "Versions of drafted tools, newest first",
  input: z.strictObject({
    state: z.enum(DRAFT_STATES).optional(),
    name: z.string().min(1).max(73).optional(),
    limit: z.coerce.number().int().min(1).max(100).default(50),
    before: id.optional().describe("The page after this one: `next` of the last page"),
  }),
  output: z.object({ items: z.array(draft), next: z.string().nullable() }),
  async run({ state, name, ...page }, { caller, doors }) {
    const rows = await doors.toolDrafts.list(caller, { state, name }, page);
    const next = rows.length === page.limit ? (rows.at(-1)?.id ?? null) : null;
    return { items: rows.map(shown), next };
  },
});

export const createToolDraft = endpoint({
  name: "toolDrafts.createToolDraft",
  method: "POST",
  path: "/tool-drafts",
  access: "admin",
  summary: "Draft a tool as agent/create_tool does: checked, tested in the sandbox, not callable",
  statuses: [201],
  input: draftInput,
  output: draft,
  async run(input, { caller, doors, reply, signal }) {
    const row = await doors.toolDrafts.create(caller, input, signal);
    reply.headers["Location"] = `/api/v1/tool-drafts/${row.id}`;
    return shown(row);
  },
});

export const getToolDraft = endpoint({
  name: "toolDrafts.getToolDraft",
  method: "GET",
  path: "/tool-drafts/{id}",
  access: "admin",
  summary: "One version: program, tests with results, findings, difference to the version before",
  input: one,
  output: review,
  run: async (input, { caller, doors }) =>
    reviewShown(await doors.toolDrafts.get(caller, input.id)),
});

export const testToolDraft = endpoint({
  name: "toolDrafts.testToolDraft",
  method: "POST",
  path: "/tool-drafts/{id}/test",
  access: "admin",
  summary: "Run its tests again, in the sandbox",
  input: one,
  output: review,
  run: async (input, { caller, doors, signal }) =>
    reviewShown(await doors.toolDrafts.test(caller, input.id, signal)),
});

export const linkToolDraft = endpoint({
  name: "toolDrafts.linkToolDraft",
  method: "POST",
  path: "/tool-drafts/{id}/link",
  access: "admin",
  summary: "Make this version callable, in these capsules and on these terms",
  input: one.extend({
    capsules: z
      .array(z.string().min(1).max(128))
      .min(1)
      .max(100)
      .optional()
      .describe("Needed unless a version of it is linked already"),
    grant: z
      .enum(["members", "none"])
      .optional()
      .describe("members (default): everybody of the tenant may execute it; none: nobody yet"),
    risk: z.enum(RISK_WORDS),
    effects: z.enum(EFFECTS).optional().describe("Default: what follows from risk and grants"),
    workspace: access.optional().describe("Default: ro, or none where it has hosts"),
    hosts: z.array(host).max(50).optional().describe("Through the egress guard; default: none"),
    requiresApproval: z.boolean().optional().describe("Default: only when dangerous"),
    expectedHash: z
      .string()
      .regex(/^[0-9a-f]{12,64}$/)
      .optional()
      .describe("Of what was looked at; at least 12 letters"),
    evenWithFindings: z.boolean().optional(),
  }),
  output: draft.extend({ capsules: z.array(z.string()) }),
  async run({ id: wanted, risk, ...how }, { caller, doors }) {
    const { row, capsules } = await doors.toolDrafts.link(caller, wanted, {
      ...how,
      risk: riskOf(risk),
    });
    return { ...shown(row), capsules: [...capsules] };
  },
});

export const rejectToolDraft = endpoint({
  name: "toolDrafts.rejectToolDraft",
  method: "POST",
  path: "/tool-drafts/{id}/reject",
  access: "admin",
  summary: "Turn a pending version down",
  input: one.extend({ reason: z.string().trim().min(1).max(500).optional() }),
  output: draft,
  run: async ({ id: wanted, reason = null }, { caller, doors }) =>
    shown(await doors.toolDrafts.reject(caller, wanted, reason)),
});

export const unlinkToolDraft = endpoint({
  name: "toolDrafts.unlinkToolDraft",
  method: "POST",
  path: "/tool-drafts/{id}/unlink",
  access: "admin",
  summary: "Take the linked version out of every capsule, and everybody's rights to it away",
  input: one,
  output: draft,
  run: async (input, { caller, doors }) => shown(await doors.toolDrafts.unlink(caller, input.id)),
});

export const rollBackToolDraft = endpoint({
  name: "toolDrafts.rollBackToolDraft",
  method: "POST",
  path: "/tool-drafts/{id}/rollback",
  access: "admin",
  summary: "Link this earlier version again in the place of the present one, on its own terms",
  input: one,
  output: draft,
  run: async (input, { caller, doors }) => shown(await doors.toolDrafts.rollback(caller, input.id)),
});

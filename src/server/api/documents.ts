// Versions of a governed set of texts over the API: the same seven endpoints for each kind. Administrators only.
import { z } from "zod";
import {
  DOCUMENT_STATES,
  type DocumentKind,
  type DocumentVersion,
} from "../../contract/document.ts";
import { type DocumentFault } from "../../governance/rules/governance.ts";
import { endpoint } from "./endpoint.ts";
import { iso, isoOrNull, time } from "./shapes.ts";

const MAX_FILES = 500;
const PATH = /^[A-Za-z0-9_][A-Za-z0-9_.-]*(\/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$/;

const version = z.coerce.number<number>().int().min(1);
const files = z
  .record(
    z.string().max(200).regex(PATH, "expected a relative path of A-Z a-z 0-9 _ . - and /"),
    z.string(),
  )
  .refine((given) => Object.keys(given).length > 0, "at least one file is needed")
  .refine((given) => Object.keys(given).length <= MAX_FILES, `at most ${MAX_FILES} files`)
  .describe("Texts by their path");
const note = z.string().trim().max(500).default("").describe("Why; it stands in the record");

const summary = z.object({
  version: z.int(),
  state: z.enum(DOCUMENT_STATES),
  note: z.string(),
  createdBy: z.string().describe("A user; `import` for what a start read from files"),
  createdAt: time,
  enforcedAt: time.nullable(),
  hash: z.string().describe("SHA-256 over the files"),
});
const whole = summary.extend({ files: z.record(z.string(), z.string()) });
const fault = z.object({
  file: z.string(),
  line: z.int(),
  column: z.int(),
  message: z.string(),
  severity: z.literal("warning").optional().describe("Absent: it cannot be published like this"),
});

const summaryOf = ({
  version,
  state,
  note,
  createdBy,
  createdAt,
  enforcedAt,
  hash,
}: DocumentVersion): z.input<typeof summary> => ({
  version,
  state,
  note,
  createdBy,
  createdAt: iso(createdAt),
  enforcedAt: isoOrNull(enforcedAt),
  hash,
});
const wholeOf = (document: DocumentVersion): z.input<typeof whole> => ({
  ...summaryOf(document),
  files: { ...document.files },
});
const faultsOf = (faults: readonly DocumentFault[]): z.input<typeof fault>[] =>
  faults.map((each) => ({ ...each }));

interface DocumentNoun {
  readonly kind: DocumentKind;
  /** The first part of every name: `policies`. */
  readonly group: string;
  /** Within names: `Policy` gives publishPolicy. */
  readonly word: string;
  readonly path: `/${string}`;
  /** In sentences: `policies`. */
  readonly text: string;
}

function documentEndpoints({ kind, group, word, path, text }: DocumentNoun) {
  const access = "admin" as const;
  return {
    list: endpoint({
      name: `${group}.list${word}Versions`,
      method: "GET",
      path,
      access,
      summary: `Versions of the ${text}, newest first`,
      input: z.strictObject({
        limit: z.int().min(1).max(100).default(50),
        before: z.int().min(1).optional().describe("`next` of the page before"),
      }),
      output: z.object({ items: z.array(summary), next: z.int().nullable() }),
      async run({ limit, before }, { doors }) {
        const rows = await doors.documents.list(kind, {
          limit: limit + 1,
          ...(before === undefined ? {} : { before }),
        });
        const shown = rows.slice(0, limit);
        return {
          items: shown.map(summaryOf),
          next: rows.length > limit ? (shown.at(-1)?.version ?? null) : null,
        };
      },
    }),
    get: endpoint({
      name: `${group}.get${word}Version`,
      method: "GET",
      path: `${path}/{version}`,
      access,
      summary: `One version of the ${text} with its files`,
      input: z.strictObject({ version }),
      output: whole,
      run: async (input, { doors }) => wholeOf(await doors.documents.get(kind, input.version)),
    }),
    draft: endpoint({
      name: `${group}.draft${word}`,
      method: "POST",
      path,
      access,
      summary: `Keep a new version of the ${text} as a draft; its faults are listed, nothing changes yet`,
      statuses: [201],
      input: z.strictObject({ files, note }),
      output: z.object({ document: whole, faults: z.array(fault) }),
      async run(input, { caller, doors, reply }) {
        const made = await doors.documents.draft(caller, kind, input.files, input.note);
        reply.headers["Location"] = `/api/v1${path}/${made.document.version}`;
        return { document: wholeOf(made.document), faults: faultsOf(made.faults) };
      },
    }),
    check: endpoint({
      name: `${group}.check${word}`,
      method: "POST",
      path: `${path}/check`,
      access,
      summary: `Could these ${text} be published? Compiles, validates and tests them; nothing is kept`,
      input: z.strictObject({ files }),
      output: z.object({ valid: z.boolean(), faults: z.array(fault) }),
      async run(input, { doors }) {
        const faults = await doors.documents.check(kind, input.files);
        return {
          valid: faults.every(({ severity }) => severity === "warning"),
          faults: faultsOf(faults),
        };
      },
    }),
    publish: endpoint({
      name: `${group}.publish${word}`,
      method: "POST",
      path: `${path}/{version}/publish`,
      access,
      summary: `Put a version of the ${text} in force, or on trial beside the one in force`,
      input: z.strictObject({ version, as: z.enum(["enforced", "shadow"]).default("enforced") }),
      output: summary,
      run: async (input, { caller, doors }) =>
        summaryOf(await doors.documents.publish(caller, kind, input.version, input.as)),
    }),
    rollback: endpoint({
      name: `${group}.rollback${word}`,
      method: "POST",
      path: `${path}/rollback`,
      access,
      summary: `Put an earlier version of the ${text} in force again; without one the last before`,
      input: z.strictObject({ version: z.int().min(1).optional() }),
      output: summary,
      run: async (input, { caller, doors }) =>
        summaryOf(await doors.documents.rollback(caller, kind, input.version)),
    }),
    endTrial: endpoint({
      name: `${group}.end${word}Trial`,
      method: "DELETE",
      path: `${path}/shadow`,
      access,
      summary: `End the trial of ${text}`,
      input: z.strictObject({}),
      output: z.object({ success: z.literal(true) }),
      async run(_input, { caller, doors }) {
        await doors.documents.unshadow(caller, kind);
        return { success: true as const };
      },
    }),
  };
}

export const policies = documentEndpoints({
  kind: "policy",
  group: "policies",
  word: "Policy",
  path: "/policies",
  text: "policies",
});

export const governance = documentEndpoints({
  kind: "governance",
  group: "governance",
  word: "Governance",
  path: "/governance",
  text: "governance files",
});

export const relationSchema = documentEndpoints({
  kind: "relations",
  group: "relationSchema",
  word: "RelationSchema",
  path: "/relationships/schema/versions",
  text: "relation schema",
});

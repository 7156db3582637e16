// SpiceDB's case files: a schema, relationships, and what must follow from them.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parse } from "yaml";
import type { JsonObject } from "../../src/contract/call.ts";
import type {
  CheckResult,
  Relations,
  Relationship,
} from "../../src/governance/relations/relation.ts";
import { parseRelationship } from "../../src/governance/relations/text.ts";
import { emptied } from "../fixtures/spicedb.ts";

export interface CaseFile {
  readonly file: string;
  readonly schema: string;
  readonly relationships: readonly string[];
  readonly claims: readonly Claim[];
}

/** One line that must hold. */
export interface Claim {
  readonly text: string;
  readonly expected: string;
  /** What the engine says, in the words of `expected`. */
  ask(relations: Relations): Promise<string>;
}

export interface Outcome {
  readonly file: string;
  readonly text: string;
  readonly status: "passed" | "failed" | "skipped";
  readonly reason: string;
}

const EXPECTED = { assertTrue: "yes", assertFalse: "no", assertCaveated: "conditional" } as const;

export function caseFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.ya?ml$/.test(name))
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .sort();
}

interface RawCase {
  schema?: string;
  schemaFile?: string;
  relationships?: string | null;
  assertions?: Partial<Record<keyof typeof EXPECTED, (string | null)[] | null>> | null;
  validation?: Record<string, (string | null)[] | null> | null;
}

export function readCase(path: string, folder: string): CaseFile {
  const raw = parse(readFileSync(path, "utf8")) as RawCase | null;
  const schema =
    raw?.schemaFile === undefined
      ? raw?.schema
      : readFileSync(join(dirname(path), raw.schemaFile), "utf8");
  if (raw === null || typeof schema !== "string") throw new Error("has no schema");
  return {
    file: relative(folder, path),
    schema,
    relationships: lines(raw.relationships ?? ""),
    claims: [...assertions(raw), ...validations(raw)],
  };
}

function lines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("//"));
}

function assertions(raw: RawCase): Claim[] {
  return Object.entries(EXPECTED).flatMap(([kind, expected]) =>
    (raw.assertions?.[kind as keyof typeof EXPECTED] ?? [])
      .filter((text) => text !== null)
      .map((text) => ({
        text: `${kind} ${text}`,
        expected,
        ask: (relations) => check(relations, text),
      })),
  );
}

async function check(relations: Relations, assertion: string): Promise<string> {
  const [, question = "", context] =
    /^(.*?)(?:\s+with\s+(\{.*\}))?\s*$/s.exec(assertion.trim()) ?? [];
  return (
    await ask(
      relations,
      parseRelationship(question),
      context === undefined ? undefined : (JSON.parse(context) as JsonObject),
    )
  ).has;
}

function ask(
  relations: Relations,
  { resource, relation, subject }: Relationship,
  context?: JsonObject,
): CheckResult | Promise<CheckResult> {
  return relations.check({ resource, permission: relation, subject, ...(context && { context }) });
}

/** `[user:fred] is <…>`, `[user:fred[...]]` with a caveat, `[user:* - {user:tom, user:sam}]`. */
const EXPECTED_SUBJECT = /^\s*\[(.+?)(\[\.\.\.\])?(?:\s*-\s*\{(.*)\})?\](?:\s+is\s+.*)?$/s;

function validations(raw: RawCase): Claim[] {
  return Object.entries(raw.validation ?? {}).flatMap(([onr, entries]) =>
    (entries ?? [])
      .filter((entry) => entry !== null)
      .map((entry): Claim => {
        const [, subject = "", caveated, excluded = ""] = EXPECTED_SUBJECT.exec(entry) ?? [];
        const expected = caveated === undefined ? "yes" : "conditional";
        const except = excluded
          .split(",")
          .map((one) => one.trim().replace(/\[\.\.\.\]$/, ""))
          .filter((one) => one !== "");
        return {
          text: `validation ${onr}: ${entry}`,
          expected,
          ask: async (relations) => {
            if (!subject.endsWith(":*"))
              return (await ask(relations, parseRelationship(`${onr}@${subject}`))).has;
            for (const one of except) {
              const { has } = await ask(relations, parseRelationship(`${onr}@${one}`));
              if (has === "yes") return `yes for ${one}, which is excluded`;
            }
            return (
              await ask(
                relations,
                parseRelationship(`${onr}@${subject.slice(0, -1)}somebody_named_nowhere`),
              )
            ).has;
          },
        };
      }),
  );
}

/** A file on an engine that is emptied first: every claim counts, also when the schema or a relationship is refused. */
export async function runCase(one: CaseFile, relations: Relations): Promise<Outcome[]> {
  const refused = await prepare(one, relations);
  const outcomes: Outcome[] = [];
  for (const { text, expected, ask: say } of one.claims) {
    const got =
      refused ??
      (await say(relations).catch((cause: unknown) => `error: ${(cause as Error).message}`));
    const status = got === expected ? "passed" : "failed";
    outcomes.push({ file: one.file, text, status, reason: `expected ${expected}, got ${got}` });
  }
  if (one.claims.length === 0 && refused !== null)
    outcomes.push({ file: one.file, text: "the file", status: "failed", reason: refused });
  return outcomes;
}

async function prepare(
  { schema, relationships }: CaseFile,
  relations: Relations,
): Promise<string | null> {
  try {
    // A caveat may not change its parameters, so that of the file before has to go first.
    await emptied(relations, "definition nobody {}\n");
    await relations.writeSchema(schema);
    const changes = relationships.map((text) => ({
      operation: "touch" as const,
      relationship: parseRelationship(text),
    }));
    for (let i = 0; i < changes.length; i += 500) await relations.write(changes.slice(i, i + 500));
    return null;
  } catch (cause) {
    return `error: ${(cause as Error).message}`;
  }
}

// Recorded calls under a draft: which of them would be decided otherwise.
import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import type { Cli } from "../cli.ts";
import { parseMoment } from "../duration.ts";
import { orUsage } from "../documents.ts";
import { usage } from "../client/fail.ts";
import { counted } from "./show.ts";
import { readFolder } from "../../governance/rules/files/folder.ts";
import { printTable } from "../output/table.ts";

export interface ReplayOptions {
  readonly since?: string;
  readonly last?: string;
  readonly policy?: string;
  readonly schema?: string;
  readonly governance?: string;
}

interface Decision {
  readonly verdict: "run" | "ask" | "no";
  readonly stage?: string;
  readonly reason?: string;
  readonly rule?: string;
}

interface Answer {
  readonly tried: number;
  readonly left: number;
  readonly changed: readonly {
    executionId: string;
    tool: string;
    userId: string;
    at: string;
    before: Decision;
    after: Decision;
  }[];
}

export async function replay(cli: Cli, options: ReplayOptions): Promise<void> {
  const { policy, schema, governance, since, last } = options;
  if (policy === undefined && schema === undefined && governance === undefined)
    throw usage("name what to try out: --policy, --schema or --governance");
  const body = {
    ...(policy === undefined ? {} : { policy: textsOf(policy) }),
    ...(governance === undefined ? {} : { governance: textsOf(governance) }),
    ...(schema === undefined ? {} : { schema: orUsage(() => readFileSync(schema, "utf8")) }),
    ...(since === undefined ? {} : { since: parseMoment(since, -1) }),
    ...(last === undefined ? {} : { last: Number(last) }),
  };
  const api = await cli.connect("admin");
  const answer = await api.post<Answer>("policies/replay", body);
  if (cli.flags.json) return cli.term.printJson(answer);
  const { term } = cli;
  const rows = answer.changed.map((one) => [
    one.at,
    one.executionId,
    one.userId,
    one.tool,
    `${decisionText(one.before)} → ${decisionText(one.after)}`,
  ]);
  printTable(cli, ["at", "execution", "user", "tool", "would change"], rows);
  term.print(`${answer.changed.length} of ${counted(answer.tried, "call")} would change`);
  if (answer.left > 0) term.note(`${answer.left} left out: their tools do not exist any more`);
}

/** A folder, or one file under its own name. */
function textsOf(path: string): Readonly<Record<string, string>> {
  return orUsage(() =>
    statSync(path).isDirectory()
      ? readFolder(path)
      : { [basename(path)]: readFileSync(path, "utf8") },
  );
}

const decisionText = ({ verdict, stage, reason, rule }: Decision): string =>
  [verdict, stage && `(${[stage, reason, rule].filter(Boolean).join(" ")})`]
    .filter(Boolean)
    .join(" ");

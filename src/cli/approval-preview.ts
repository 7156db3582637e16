// What helps to decide an approval, on a terminal: the effect of the call, the last one like it, the reach of a rule.
import type { Effect } from "../contract/effect.ts";
import { unifiedDiff } from "../util/text/unified-diff.ts";
import { visible } from "../util/text/visible.ts";
import type { Cli } from "./cli.ts";
import { row, table } from "./output/render.ts";

type EffectOf<K extends Effect["kind"]> = Extract<Effect, { kind: K }>;

/** As the API answers it. */
export interface Previewed {
  edited: boolean;
  denied: { stage: string; message: string; remedy?: string; rule?: string } | null;
  effect:
    | Exclude<Effect, { kind: "fails" }>
    | {
        kind: "fails";
        code: string;
        reason: string;
        message: string;
        remedy?: string;
        leaves?: EffectOf<"files">;
      };
}

export interface Similar {
  similar: {
    approvalId: string;
    requester: string;
    arguments: Record<string, unknown>;
    votes: { userId: string }[];
    decidedAt: string;
  } | null;
}

export interface RuleReach {
  summary: string;
  newest: { executionId: string; at: string; status: string; arguments: Record<string, unknown> }[];
}

export function printPreview({ term }: Cli, { denied, effect, edited }: Previewed): void {
  term.print(`effect${edited ? " with these arguments" : ""}`);
  const refused = denied
    ? [
        ...row("denied", `at ${denied.stage}: ${denied.message}`),
        ...row("rule", denied.rule),
        ...row("remedy", denied.remedy),
      ]
    : [];
  for (const line of [...refused, ...effectLines(effect)]) term.print(visible(line));
}

function effectLines(effect: Previewed["effect"]): string[] {
  switch (effect.kind) {
    case "none":
      return row("none", effect.reason);
    case "fails":
      return [
        ...row("fails", `${effect.message} (${effect.code} / ${effect.reason})`),
        ...row("remedy", effect.remedy),
        ...(effect.leaves
          ? [...row("leaves", "what it changed by then:"), ...fileLines(effect.leaves)]
          : []),
      ];
    case "files":
      return fileLines(effect);
    case "database":
      return rowLines(effect);
    case "shell":
      return effect.commands.flatMap(({ text, verdict, message, rule }) => [
        ...row(verdict, `${text}   (${rule.at})`),
        ...row("", message),
      ]);
    case "http":
      return [
        ...row(effect.method, `${effect.url}   (${effect.bodyBytes} bytes)`),
        ...row(effect.verdict, `${effect.host}   (${effect.rule.at})`),
        ...row("", effect.message),
      ];
  }
}

function fileLines({ changes, totals, cut }: EffectOf<"files">): string[] {
  const counted = Object.entries(totals).filter(([, count]) => count > 0);
  const sum = counted.map(([change, count]) => `${count} ${change}`).join(", ");
  return [
    ...row("files", `${sum || "nothing changes"}${cut ? "; not all are listed" : ""}`),
    ...changes.flatMap((one) => [
      ...row(
        one.change,
        `${one.from === undefined ? "" : `${one.from} → `}${one.path}${sizeText(one)}`,
      ),
      ...row("", one.note),
      ...(one.diff ? one.diff.trimEnd().split("\n") : []).map((line) => `      ${line}`),
      ...(one.diffCut ? row("", "the diff is longer") : []),
    ]),
  ];
}

function sizeText(one: EffectOf<"files">["changes"][number]): string {
  if (one.files !== undefined) return `  (${one.files} files, ${one.bytes ?? 0} bytes)`;
  if (one.sizeBytes === undefined) return "";
  const before = one.previousSizeBytes === undefined ? "" : `${one.previousSizeBytes} → `;
  return `  (${before}${one.sizeBytes} bytes)`;
}

function rowLines(effect: EffectOf<"database">): string[] {
  const { action, table: name, rows, skipped, otherRows, columns, before, after, cut } = effect;
  const shown = (found: typeof before): string[] =>
    table([columns, ...found.map((cells) => cells.map(cellText))]).map((line) => `      ${line}`);
  const more = [
    ...(skipped === undefined ? [] : [`${skipped} exist already`]),
    ...(otherRows === undefined ? [] : [`${otherRows} rows besides`]),
    ...(cut ? ["only the first are shown"] : []),
  ];
  return [
    ...row(action, [`${rows} rows${name === null ? "" : ` of ${name}`}`, ...more].join("; ")),
    ...(before.length > 0 ? [...row("before", " "), ...shown(before)] : []),
    ...(after.length > 0 ? [...row("after", " "), ...shown(after)] : []),
  ];
}

const cellText = (value: unknown): string =>
  visible(typeof value === "string" ? value : JSON.stringify(value));

/** What is different from the last call like it that people agreed to. */
export function printSimilar({ term }: Cli, args: object, { similar }: Similar): void {
  if (similar === null) return;
  const { approvalId, requester, votes, decidedAt } = similar;
  const by = votes.map(({ userId }) => userId).join(" and ");
  term.print(visible(`similar  ${approvalId} of ${requester}, approved by ${by} at ${decidedAt}`));
  const [before, now] = [similar.arguments, args].map((one) => `${JSON.stringify(one, null, 2)}\n`);
  const { diff } = unifiedDiff(before ?? "", now ?? "", { maxLines: 100 });
  for (const line of diff === "" ? ["the same arguments"] : diff.trimEnd().split("\n"))
    term.print(visible(`      ${line}`));
}

export function printReach({ term }: Cli, { summary, newest }: RuleReach): void {
  term.print(visible(`rule  ${summary}`));
  for (const line of table(
    newest.map(({ executionId, at, status, arguments: args }) => [
      executionId,
      at,
      status,
      JSON.stringify(args).slice(0, 80),
    ]),
  ))
    term.print(visible(`      ${line}`));
}

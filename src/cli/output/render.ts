// Records and refusals as people read them.
import type { Verdict } from "../../contract/call.ts";
import type { CliProblem } from "../client/fail.ts";
import type { ApprovalNotice } from "../client/follow.ts";
import { inCliWords } from "../client/remedies.ts";
import type { Colors } from "./terminal.ts";

const MARKS = { allow: "✓", deny: "⛔", hold: "⏸" } as const;

/** `registry ✓ capsule ✓ level ⛔` */
export function gateStrip(gates: readonly Verdict[]): string {
  return gates.map((gate) => `${gate.stage} ${MARKS[gate.verdict]}`).join(" ");
}

export function problemLines(
  problem: CliProblem,
  color: Colors,
  hint: string | null = null,
): string[] {
  const { code, reason, execution_id: id, gates, errors } = problem;
  const remedy = inCliWords(problem.remedy, problem);
  const refusal = gates?.find((gate) => gate.verdict !== "allow");
  if (code === "BAD_REQUEST" && reason === "usage")
    return [`${color.red("error:")} ${problem.detail}`, ...row("try", remedy)];
  if (id === undefined && gates === undefined && !errors)
    return [`${color.red("error:")} ${problem.detail}`, ...row("remedy", remedy), ...row("", hint)];
  const head = refusal
    ? `${MARKS[refusal.verdict]} ${color.red(refusal.verdict === "hold" ? `held at ${refusal.stage}` : `denied at ${refusal.stage}`)}`
    : `⛔ ${color.red(problem.title)}`;
  return [
    `${head}   ${code} / ${reason}${id === undefined ? "" : `   ${id}`}`,
    ...row("why", problem.detail),
    ...row("rule", refusal?.rule),
    ...(errors ?? []).flatMap((error) => [
      ...row("fault", `${error.path === "" ? "/" : error.path}  ${error.message}`),
      ...row("", error.suggestion),
    ]),
    ...(gates ? row("gates", gateStrip(gates)) : []),
    ...row("remedy", remedy),
    ...row("", hint),
    // Without gates the tool does not exist for this caller, and there is nothing to explain.
    ...(id === undefined || !gates ? [] : row("explain", `ostiary explain ${id}`)),
  ];
}

/** A call waits for a person: which approval, how long, and where to decide it. */
export function pendingLine({ id, expiresAt, url }: ApprovalNotice, now: number): string[] {
  const left = duration(Math.max(0, Date.parse(expiresAt) - now));
  return [
    `⏸ pending — waiting for approval ${id}   expires in ${left}   (Ctrl-C leaves it waiting)`,
    ...row("decide", `${url}   or: ostiary approvals approve ${id}`),
  ];
}

/** `✓ approved by owner after 8 s, gate run again ✓`; null when nobody agreed. */
export function decidedLine(
  { state, decidedBy, decidedAt, selfApproved }: ApprovalNotice,
  asked: number,
): string | null {
  if (state !== "consumed" || !decidedBy) return null;
  const after =
    decidedAt === undefined ? "" : ` after ${duration(Math.max(0, Date.parse(decidedAt) - asked))}`;
  const self = selfApproved ? " (self-approved)" : "";
  return `✓ approved by ${decidedBy.join(" and ")}${self}${after}, gate run again ✓`;
}

/** `8 s`, `10 min`, `3 h`: the largest unit that says it. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

export function row(label: string, text: string | null | undefined): string[] {
  return text === undefined || text === null || text === ""
    ? []
    : [`   ${label.padEnd(8)} ${text}`];
}

/** Columns as wide as their widest cell; the last one is not padded. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const cells of rows)
    cells.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)));
  return rows.map((cells) =>
    cells
      .map((cell, i) => (i === cells.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

/** A record as `name  value` lines; what is empty is left out. */
export function fields(record: Readonly<Record<string, unknown>>): string[] {
  const rows: string[][] = [];
  for (const [name, value] of Object.entries(record)) {
    const text = oneLine(value);
    if (text !== "") rows.push([name, text]);
  }
  return table(rows);
}

export function oneLine(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((item) => typeof item === "string"))
    return value.join(", ");
  return JSON.stringify(value);
}

export function short(text: string, width: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}

export function milliseconds(ms: number): string {
  if (ms < 1000) return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`;
  return ms < 60_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** A limit for people: `10 000`, or none. */
export const numberText = (value: number | null): string =>
  value === null ? "none" : value.toLocaleString("en-GB").replaceAll(",", " ");

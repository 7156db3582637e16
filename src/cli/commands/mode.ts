import { Argument, InvalidArgumentError, type Command } from "commander";
import { MODES, type Mode } from "../../contract/call.ts";
import { nearest } from "../../util/text/nearest.ts";
import type { Cli } from "../cli.ts";
import { parseDuration } from "../duration.ts";
import { row, table } from "../output/render.ts";

interface Options {
  reason?: string;
  for?: number;
  sensors?: true;
}

interface ModeAnswer {
  mode: Mode;
  description: string;
  reason: string;
  by: string;
  since: string;
  until: string | null;
  revertTo: Mode | null;
  proposal: { mode: Mode; reason: string } | null;
  unsaved?: true;
  callsPerMinute: number | null;
  throttle: number | null;
  throttleReason: string | null;
  throttledUntil: string | null;
  sensors?: { name: string; value: number; threshold: number; action: string; firing: boolean }[];
  rules?: {
    mode: Mode;
    callsPerMinute: number | null;
    classes: { class: string; run: number; approval: number; no: number }[];
  }[];
}

export function define(command: Command, cli: Cli): void {
  command
    .usage(`[${MODES.join("|")}] [options]`)
    .addArgument(
      new Argument("[mode]", "switch to this one; without it the present mode is shown")
        .choices(MODES)
        .argParser(parseMode),
    )
    .option("--reason <text>", "why; it is recorded and shown to all users")
    .option("--for <duration>", "go back by itself after this long: 30m, 2h, 7d", (text) =>
      parseDuration(text, "s"),
    )
    .option("--sensors", "also the sensors and what each mode allows (administrators)")
    .action(async (mode: Mode | undefined, options: Options) => {
      if (mode !== undefined) return switchTo(cli, mode, options);
      const api = await cli.connect(options.sensors ? "admin" : "caller");
      show(cli, await api.get<ModeAnswer>("mode"), options.sensors === true);
    });
}

function parseMode(word: string): Mode {
  const mode = MODES.find((each) => each === word.toUpperCase());
  if (mode !== undefined) return mode;
  const guess = nearest(word.toUpperCase(), MODES);
  throw new InvalidArgumentError(
    `expected one of ${MODES.join(", ")}${guess === null ? "" : `; did you mean ${guess}?`}`,
  );
}

async function switchTo(cli: Cli, mode: Mode, options: Options): Promise<void> {
  const asked = options.reason === undefined ? await ask(cli, mode, options.for) : {};
  const { reason, for: forMs } = { ...options, ...asked };
  const api = await cli.connect("admin");
  const body = {
    mode,
    reason,
    ...(forMs === undefined ? {} : { forSeconds: Math.round(forMs / 1000) }),
  };
  show(
    cli,
    (await api.request<ModeAnswer>("PUT", "mode", { body })).body,
    options.sensors === true,
  );
}

/** When the reason is asked for, so is the duration, unless the command line has it. */
async function ask(
  cli: Cli,
  mode: Mode,
  forMs: number | undefined,
): Promise<{ reason: string; for?: number }> {
  const reason = await cli.term.ask(`Why switch to ${mode}?`, "--reason <text>");
  if (forMs !== undefined) return { reason };
  const text = await cli.term.ask(
    "For how long? (30m, 2h, 7d; empty: until it is changed)",
    "--for <duration>",
    "may be empty",
  );
  return text === "" ? { reason } : { reason, for: parseDuration(text, "s") };
}

function show(cli: Cli, answer: ModeAnswer, withSensors: boolean): void {
  const { term } = cli;
  if (cli.flags.json) return term.printJson(answer);
  const { mode, proposal, until, revertTo, callsPerMinute } = answer;
  const paint =
    mode === "NORMAL" ? term.out.green : mode === "LOCKDOWN" ? term.out.red : term.out.yellow;
  const lines = [
    `${paint(mode)}  ${answer.description}`,
    ...row("why", answer.reason),
    ...row("by", `${answer.by}, since ${answer.since}`),
    ...row("until", until === null ? null : `${until}, then ${revertTo ?? "NORMAL"}`),
    ...row(
      "limit",
      callsPerMinute === null ? null : `${callsPerMinute} calls per minute and caller`,
    ),
    ...row("throttle", throttleText(answer)),
    ...row(
      "proposed",
      proposal && `${proposal.mode}: ${proposal.reason} (ostiary mode ${proposal.mode})`,
    ),
    ...row(
      "note",
      answer.unsaved && "it holds, but the store could not be written yet; that is tried again",
    ),
    ...(withSensors ? detailLines(answer) : []),
  ];
  for (const line of lines) term.print(line);
}

function detailLines({ sensors = [], rules = [] }: ModeAnswer): string[] {
  const watched = sensors.map(({ name, action, value, threshold, firing }) => [
    `   ${name}`,
    action,
    `${value} of ${threshold}`,
    firing ? "firing" : "",
  ]);
  const allowed = rules.map((each) => [
    `   ${each.mode}`,
    each.callsPerMinute === null ? "no limit" : `${each.callsPerMinute}/min`,
    ...each.classes.map(({ class: name, run, approval, no }) => `${name} ${run}/${approval}/${no}`),
  ]);
  return [
    "sensors",
    ...table(watched),
    "tools that run / ask / may not, by class",
    ...table(allowed),
  ];
}

function throttleText({ throttle, throttleReason, throttledUntil }: ModeAnswer): string | null {
  if (throttle === null) return null;
  return `you are held to ${throttle} calls per minute until ${throttledUntil}, because ${throttleReason}`;
}

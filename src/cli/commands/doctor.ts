import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { examinePlace } from "../../app/doctor/examine.ts";
import type { DoctorFinding } from "../../app/doctor/finding.ts";
import { findPlace } from "../doctor-place.ts";
import { table } from "../output/render.ts";

const MARKS = { ok: "✓", warning: "!", failed: "✗", missing: "–" } as const;

export function define(command: Command, cli: Cli): void {
  command
    .option("--fix", "repair what can be repaired: permissions, programs from apt-get or brew")
    .option("--config <file>", "configuration file")
    .action(async (options: { fix?: boolean; config?: string }) => {
      let findings = await examine(cli, options.config);
      if (options.fix) {
        const repaired = await repair(cli, findings);
        if (repaired) findings = await examine(cli, options.config);
      }
      const ok = findings.every(({ status }) => status !== "failed");
      cli.exitCode = ok ? 0 : 1;
      if (cli.flags.json)
        return cli.term.printJson({ ok, checks: findings.map(({ repair: _, ...shown }) => shown) });
      show(cli, findings);
    });
}

const examine = async (cli: Cli, file: string | undefined): Promise<DoctorFinding[]> =>
  examinePlace(await findPlace(cli, file));

function show(cli: Cli, findings: readonly DoctorFinding[]): void {
  const rows = findings.map(({ name, status, detail }) => [MARKS[status], name, detail]);
  table(rows).forEach((line, i) => {
    cli.term.print(line);
    const fix = findings[i]?.fix;
    if (fix !== undefined) cli.term.print(`     fix: ${fix}`);
  });
}

/** Asks once per repair; true when something was done. */
async function repair(cli: Cli, findings: readonly DoctorFinding[]): Promise<boolean> {
  let done = false;
  for (const { name, fix, repair: run } of findings) {
    if (!run || !(await cli.term.confirm(`${name}: run "${fix ?? ""}"?`))) continue;
    try {
      cli.term.note(`${name}: ${fix ?? ""}`);
      await run();
      done = true;
    } catch (cause) {
      cli.term.warn(`${name}: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
  }
  return done;
}

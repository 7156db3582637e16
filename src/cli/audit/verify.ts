// Verification: of an export by its bytes alone, of the running server's ledger, or of a data directory nobody uses.
import { createReadStream, readFileSync, statSync } from "node:fs";
import type { Command } from "commander";
import type { Checkpoint, Signed } from "../../storage/ledger/lines.ts";
import type { Cli } from "../cli.ts";
import { findDataDir, liveOwner } from "../client/data-dir.ts";
import { CliError, failed, usage } from "../client/fail.ts";

interface Options {
  file?: string;
  anchor?: string;
}

interface History {
  agrees: boolean;
  checked: number;
  missing: number;
  extra: number;
  different: number;
  sums: number;
  ids: readonly string[];
}

/** The report, whether the file or the server was checked. */
interface Report {
  ok: boolean;
  events: number;
  chains?: number | undefined;
  checkpoints?: number | undefined;
  unchained?: number | undefined;
  from?: number | undefined;
  to?: number | undefined;
  head?: string | null | undefined;
  keyIds?: readonly string[] | undefined;
  anchored?: number | undefined;
  unanchored?: number | undefined;
  rollbacks?: readonly number[] | undefined;
  segmentsElsewhere?: number | undefined;
  /** Null: not compared. */
  history: History | null;
  fault?: { seq: number | null; message: string; line?: number | null; offset?: number | null };
}

const BAR = 30;

export function verifyVerb(command: Command, cli: Cli): void {
  command
    .command("verify")
    .description("prove that nothing was changed, left out or put back, and that history agrees")
    .option(
      "--file <export>",
      "check this export by itself, plain or packed; needs no server. --key <public.pem> then says who must have signed",
    )
    .option("--anchor <file>", "checkpoints that were kept elsewhere: what they name must be there")
    .action((options: Options) => verify(cli, options));
}

async function verify(cli: Cli, { file, anchor }: Options): Promise<void> {
  const report = file === undefined ? await ofLedger(cli, anchor) : await ofFile(cli, file, anchor);
  if (cli.flags.json) cli.term.printJson(report);
  else tell(cli, report, file !== undefined && cli.flags.key === undefined);
  if (!report.ok) cli.exitCode = 1;
}

async function ofFile(cli: Cli, file: string, anchor: string | undefined): Promise<Report> {
  const { verifyExport } = await import("../../storage/ledger/verify.ts");
  const keys = cli.flags.key === undefined ? {} : { keys: await keysIn(cli.flags.key) };
  const anchors = anchor === undefined ? {} : { anchors: await anchorsIn(anchor) };
  const size = sizeOf(file);
  const bar = progress(cli, size);
  const verdict = await verifyExport(createReadStream(file, { highWaterMark: 1 << 20 }), {
    ...keys,
    ...anchors,
    onProgress: bar.at,
  });
  bar.end();
  // A file has no history.
  return verdict.ok
    ? { ok: true, ...verdict.findings, history: null }
    : { ok: false, events: verdict.events, fault: verdict.fault, history: null };
}

/** The running server checks itself; where none runs, its folder is read here. */
async function ofLedger(cli: Cli, anchor: string | undefined): Promise<Report> {
  const dataDir = await findDataDir(cli);
  if (cli.flags.server !== undefined || liveOwner(dataDir)?.url) {
    const api = await cli.connect("admin");
    const lines =
      anchor === undefined
        ? []
        : textOf(anchor)
            .split("\n")
            .filter((line) => line !== "");
    const { success: _, ...report } = await api.post<Report & { success: true }>("audit/verify", {
      anchors: lines,
    });
    return report;
  }
  const [{ loadConfig }, { verifyOffline }] = await Promise.all([
    import("../../config/config.ts"),
    import("../../app/ledger.ts"),
  ]);
  const { config } = await loadConfig({ env: cli.env, flags: { dataDir } });
  cli.term.note(`no server is running; reading ${dataDir}`);
  const bar = progress(cli, null);
  const verdict = await verifyOffline(config, {
    tenantId: null,
    ...(anchor === undefined ? {} : { anchors: await anchorsIn(anchor) }),
    onProgress: bar.at,
  });
  bar.end();
  return verdict.ok
    ? {
        ok: true,
        ...verdict.findings,
        segmentsElsewhere: verdict.segmentsElsewhere,
        history: verdict.history,
      }
    : { ok: false, events: verdict.events, fault: verdict.fault, history: verdict.history };
}

function tell(cli: Cli, report: Report, unpinned: boolean): void {
  const { term } = cli;
  const { events, chains = 0, checkpoints = 0, head, keyIds = [], fault } = report;
  if (fault) {
    term.print(
      `${term.out.red("✗")} broken${fault.seq === null ? "" : ` at event ${fault.seq}`}: ${fault.message}`,
    );
    if (fault.line)
      term.print(
        `   at line ${fault.line}, byte ${fault.offset ?? 0}; ${events} events before it were checked`,
      );
    if (report.history && report.history.ids.length > 0)
      term.print(`   executions that do not agree: ${report.history.ids.join(", ")}`);
    return;
  }
  term.print(
    `${term.out.green("✓")} ${events} events, ${chains === 1 ? "chain" : `${chains} chains`} unbroken, ${checkpoints} checkpoints, head ${head ?? "none"}`,
  );
  term.print(
    report.history
      ? `   history agrees with the log: ${report.history.checked} executions`
      : "   history: not compared (a file has none)",
  );
  if (keyIds.length > 0) term.print(`   signed by key ${keyIds.join(", ")}`);
  if (report.unchained)
    term.print(`   ${report.unchained} events are older than the chain: there, but not proven`);
  if (report.anchored || report.unanchored)
    term.print(
      `   ${report.anchored} heads found that were kept elsewhere${report.unanchored ? `; ${report.unanchored} lie outside of this stretch` : ""}`,
    );
  if (report.segmentsElsewhere)
    term.print(
      `   ${report.segmentsElsewhere} archived files are not on this machine: only their signed first line was checked`,
    );
  for (const seq of report.rollbacks ?? [])
    term.print(
      `${term.out.yellow("!")} event ${seq} says that the database had been put back to an older state; what was lost then is not here`,
    );
  if (unpinned)
    term.note(
      "   the key is part of this file, so anyone could have signed it; give the key you trust: --key <public.pem> (ostiary audit head shows it)",
    );
}

function progress(
  cli: Cli,
  total: number | null,
): { at(done: number, of?: number): void; end(): void } {
  const shown = cli.term.interactive && !cli.flags.quiet && !cli.flags.json;
  let last = -1;
  return {
    at(done, of = total ?? 1) {
      const share = Math.min(1, done / Math.max(1, of));
      const percent = Math.floor(share * 100);
      if (!shown || percent === last) return;
      last = percent;
      cli.stderr.write(`\r${"█".repeat(Math.round(share * BAR)).padEnd(BAR, "░")} ${percent} %`);
    },
    end: () => void (last >= 0 && cli.stderr.write(`\r${" ".repeat(BAR + 8)}\r`)),
  };
}

/** Public keys of a PEM file; there may be several, one per server. */
async function keysIn(reference: string): Promise<string[]> {
  const { publicKeyOf } = await import("../../storage/ledger/key.ts");
  const text = textOf(reference.replace(/^file:/, ""));
  const blocks = text.match(/-----BEGIN [^-]+-----[\s\S]+?-----END [^-]+-----/g) ?? [];
  const keys = blocks.map(publicKeyOf);
  if (keys.length > 0 && keys.every((key) => key !== null)) return keys;
  throw usage(
    `--key: ${reference} holds no Ed25519 public key in PEM`,
    "ostiary audit head shows the server's",
  );
}

async function anchorsIn(file: string): Promise<(Checkpoint & Signed)[]> {
  const { readCheckpoint } = await import("../../storage/ledger/rollback.ts");
  return textOf(file)
    .split("\n")
    .filter((line) => line !== "")
    .map((line, index) => {
      const anchor = readCheckpoint(line);
      if (anchor) return anchor;
      const detail = `line ${index + 1} of ${file} is not a checkpoint with a valid signature`;
      throw new CliError(
        failed(
          "invalid_anchor",
          detail,
          "keep the lines exactly as ostiary audit checkpoint wrote them",
        ).problem,
        1,
      );
    });
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw failed("not_readable", `${file} cannot be read: ${(cause as Error).message}`);
  }
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch (cause) {
    throw failed("not_readable", `${file} cannot be read: ${(cause as Error).message}`);
  }
}

import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Option, type Command } from "commander";
import type { Cli } from "../cli.ts";
import { problemOf } from "../client/client.ts";
import { parseMoment } from "../duration.ts";
import { failed } from "../client/fail.ts";

interface Options {
  from?: string;
  to?: string;
  since?: string;
  tenant?: string;
  format: string;
  out?: string;
  gzip?: true;
}

export function exportVerb(command: Command, cli: Cli): void {
  command
    .command("export")
    .description("the ledger as lines that prove themselves: ostiary audit verify --file")
    .option("--from <seq>", "first number (default: the beginning)")
    .option("--to <seq>", "last number (default: the newest)")
    .option("--since <moment>", "begin with what is not older: 2026-01-31, or 2h, 7d", (text) =>
      parseMoment(text, -1),
    )
    .option("--tenant <id>", "one tenant's chains alone")
    .addOption(
      new Option("--format <format>", "of the lines")
        .choices(["ndjson", "cloudevents"])
        .default("ndjson"),
    )
    .option("--out <file>", "write to this file instead of stdout")
    .option("--gzip", "packed")
    .action((options: Options) => save(cli, options));
}

async function save(cli: Cli, { out, gzip, ...query }: Options): Promise<void> {
  const api = await cli.connect("admin");
  const response = await api.send("GET", "audit/export", {
    query: { ...query, gzip },
    headers: { accept: "*/*" },
  });
  if (!response.ok || !response.body)
    throw problemOf(response, await response.json().catch(() => null));
  const body = Readable.fromWeb(response.body);
  try {
    if (out === undefined) return await pipeline(body, cli.stdout, { end: false });
    await pipeline(body, createWriteStream(`${out}.part`));
    await rename(`${out}.part`, out);
  } catch (cause) {
    if (out !== undefined) await rm(`${out}.part`, { force: true });
    throw failed(
      "export_failed",
      `The export did not come to its end: ${(cause as Error).message}`,
      "try again; nothing was left behind",
    );
  }
  if (cli.flags.json) return cli.term.printJson({ success: true, file: out });
  cli.term.note(`written to ${out}; check it anywhere: ostiary audit verify --file ${out}`);
}

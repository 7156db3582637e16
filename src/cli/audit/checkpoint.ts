import { appendFileSync } from "node:fs";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { failed } from "../client/fail.ts";
import { fields } from "../output/render.ts";

export function checkpointVerb(command: Command, cli: Cli): void {
  command
    .command("checkpoint")
    .description("a signed line that says where the ledger stands, to be kept elsewhere")
    .option("--out <file>", "add it to this file instead of printing it")
    .action(async ({ out }: { out?: string }) => {
      const api = await cli.connect("admin");
      const answer = await api.post<{ line: string }>("audit/checkpoints", {});
      if (out !== undefined) add(out, answer.line);
      if (cli.flags.json) return cli.term.printJson(answer);
      if (out === undefined) cli.term.print(answer.line);
      else cli.term.note(`added to ${out}; check against it: ostiary audit verify --anchor ${out}`);
    });
}

function add(file: string, line: string): void {
  try {
    appendFileSync(file, `${line}\n`);
  } catch (cause) {
    throw failed(
      "not_writable",
      `${file} cannot be written: ${(cause as Error).message}`,
      "name another file with --out",
    );
  }
}

export function headVerb(command: Command, cli: Cli): void {
  command
    .command("head")
    .description("the newest event and its hash, and the key that signs")
    .action(async () => {
      const api = await cli.connect("admin");
      const answer = await api.get<Record<string, unknown>>("audit/head");
      if (cli.flags.json) return cli.term.printJson(answer);
      const { success: _, publicKey, ...facts } = answer;
      for (const line of fields(facts)) cli.term.print(line);
      cli.term.print(String(publicKey).trim());
    });
}

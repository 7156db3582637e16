// Secrets come from a question that does not show them, from stdin, or by reference; never from the command line.
import { readFileSync } from "node:fs";
import type { Cli } from "../cli.ts";
import { byReference } from "../client/client.ts";
import { usage } from "../client/fail.ts";

/** `NAME`, or `NAME=env:VARIABLE` and `NAME=file:PATH`. */
export async function credentialValues(
  cli: Cli,
  given: readonly string[],
): Promise<Record<string, string> | undefined> {
  if (given.length === 0) return undefined;
  const values: Record<string, string> = {};
  const asked: string[] = [];
  for (const text of given) {
    const [name = "", ref] = text.split(/=(.*)/s, 2);
    if (ref === undefined) asked.push(name);
    else if (/^(?:\$\{)?(?:env|file):/.test(ref)) values[name] = byReference(ref, cli);
    else
      throw usage(
        `--credential ${name}: a secret does not belong on the command line`,
        `leave the value out and be asked, or write ${name}=env:VARIABLE or ${name}=file:PATH`,
      );
  }
  if (asked.length > 0) Object.assign(values, await askedFor(cli, asked));
  return values;
}

async function askedFor(cli: Cli, names: readonly string[]): Promise<Record<string, string>> {
  if (cli.term.interactive) {
    const values: Record<string, string> = {};
    for (const name of names) values[name] = await cli.term.askSecret(`Value of ${name}?`);
    return values;
  }
  if (cli.stdin.isTTY)
    throw usage(
      `the value of ${names.join(", ")} cannot be asked for here`,
      `write ${names[0] ?? "NAME"}=env:VARIABLE, or pipe it in`,
    );
  const text = readFileSync(0, "utf8").replace(/\r?\n$/, "");
  // One may have several lines, as a key in PEM has.
  const lines = names.length === 1 ? [text] : text.split(/\r?\n/);
  if (lines.length < names.length || lines.some((line) => line === ""))
    throw usage(
      `expected ${names.length} ${names.length === 1 ? "value" : "lines"} on stdin, for ${names.join(", ")}`,
    );
  return Object.fromEntries(names.map((name, at) => [name, lines[at] ?? ""]));
}

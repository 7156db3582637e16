import type { Command } from "commander";
import { nearest } from "../util/text/nearest.ts";
import { usage } from "./client/fail.ts";

/** For a noun whose verb is missing or mistyped: exit 2, with the verbs or the nearest one. */
export function needsVerb(noun: Command): void {
  noun
    .usage(`<${noun.commands.map((verb) => verb.name()).join("|")}> [options]`)
    .argument("[verb]")
    .allowExcessArguments()
    .action((word?: string) => {
      throw unknownVerb(noun, word);
    });
}

export function unknownVerb(noun: Command, word: string | undefined): Error {
  const verbs = noun.commands.map((verb) => verb.name());
  const guess = word === undefined ? null : nearest(word, verbs);
  const problem = word === undefined ? "a verb is missing" : `unknown verb ${JSON.stringify(word)}`;
  return usage(
    `${problem} after ${noun.name()}`,
    guess === null ? `one of ${verbs.join(", ")}` : `did you mean ostiary ${noun.name()} ${guess}?`,
  );
}

import type { Command } from "commander";
import { archiveVerb } from "../audit/archive.ts";
import { checkpointVerb, headVerb } from "../audit/checkpoint.ts";
import { exportVerb } from "../audit/export.ts";
import { searchVerb, tailVerb } from "../audit/search.ts";
import { verifyVerb } from "../audit/verify.ts";
import type { Cli } from "../cli.ts";
import { needsVerb } from "../subcommands.ts";

export function define(command: Command, cli: Cli): void {
  tailVerb(command, cli);
  searchVerb(command, cli);
  verifyVerb(command, cli);
  exportVerb(command, cli);
  checkpointVerb(command, cli);
  headVerb(command, cli);
  archiveVerb(command, cli);
  needsVerb(command);
}

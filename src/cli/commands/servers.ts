// `ostiary servers`: MCP servers behind Ostiary, and which of their tools are approved.
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { defineAdding } from "../servers/add.ts";
import { defineCredentials } from "../servers/credentials.ts";
import { defineDeciding } from "../servers/decide.ts";
import { defineKeeping } from "../servers/keep.ts";
import { defineLogin } from "../servers/login.ts";
import { needsVerb } from "../subcommands.ts";

export function define(command: Command, cli: Cli): void {
  defineAdding(command, cli);
  defineKeeping(command, cli);
  defineDeciding(command, cli);
  defineCredentials(command, cli);
  defineLogin(command, cli);
  needsVerb(command);
}

// Every command, listed by hand. Only the one that runs is loaded, so that `--help` stays instant.
import type { Command } from "commander";
import type { Cli } from "./cli.ts";

export interface CommandModule {
  /** Adds arguments, options, subcommands and actions. */
  define(command: Command, cli: Cli): void;
}

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<CommandModule>;
}

export const DEFAULT_COMMAND = "serve";

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "serve",
    summary: "run server and console (the default)",
    load: () => import("./serve.ts"),
  },
  {
    name: "connect",
    summary: "write the configuration of an AI client, and create its key",
    load: () => import("./connect.ts"),
  },
  {
    name: "disconnect",
    summary: "take that back, and revoke the key",
    load: () => import("./disconnect.ts"),
  },
  { name: "mcp", summary: "speak MCP on stdin and stdout", load: () => import("./mcp.ts") },
  { name: "call", summary: "run one tool through the whole path", load: () => import("./call.ts") },
  { name: "tools", summary: "the catalogue as you see it", load: () => import("./tools.ts") },
  {
    name: "explain",
    summary: "why a call was, or would be, allowed or refused",
    load: () => import("./explain.ts"),
  },
  {
    name: "runs",
    summary: "your executions: list, show, watch, cancel",
    load: () => import("./runs.ts"),
  },
  {
    name: "history",
    summary: "what was run: list, stats, and its rebuild from the log",
    load: () => import("./history.ts"),
  },
  {
    name: "mode",
    summary: "the operating mode: show it, or switch it with a reason",
    load: () => import("./mode.ts"),
  },
  {
    name: "approvals",
    summary: "calls that wait for a person: list, show, approve, deny, watch",
    load: () => import("./approvals.ts"),
  },
  {
    name: "questions",
    summary: "questions that tools ask you: list, answer, decline",
    load: () => import("./questions.ts"),
  },
  {
    name: "keys",
    summary: "API keys: create, list, show, rotate, revoke",
    load: () => import("./keys.ts"),
  },
  {
    name: "whoami",
    summary: "who you are here: user, level, scopes, capsule, key",
    load: () => import("./whoami.ts"),
  },
  {
    name: "sign-ins",
    summary: "who is signed in to the console: list, end",
    load: () => import("./sign-ins.ts"),
  },
  { name: "users", summary: "users: create, list, show, edit", load: () => import("./users.ts") },
  {
    name: "capsules",
    summary: "capsules, the sets of tools that callers hold",
    load: () => import("./capsules.ts"),
  },
  {
    name: "servers",
    summary: "MCP servers behind this one: add, list, tools, approve, diff, logs, import, remove",
    load: () => import("./servers.ts"),
  },
  {
    name: "webhooks",
    summary: "programs outside that are told of events: add, list, test, rotate, deliveries",
    load: () => import("./webhooks.ts"),
  },
  {
    name: "relations",
    summary: "who may do what to which thing: check, expand, write, delete",
    load: () => import("./relations.ts"),
  },
  {
    name: "plans",
    summary: "plans of tenant, users and keys: list, show, set",
    load: () => import("./plans.ts"),
  },
  {
    name: "budget",
    summary: "what was used of the month's budgets",
    load: () => import("./budget.ts"),
  },
  {
    name: "policy",
    summary:
      "Rego policies: check, test, eval, fmt here; list, diff, replay, publish, rollback on the server",
    load: () => import("./policy.ts"),
  },
  {
    name: "governance",
    summary: "governance files on the server: list, check, diff, publish, rollback",
    load: () => import("./governance.ts"),
  },
  {
    name: "audit",
    summary: "the ledger: tail, search, verify, export, checkpoint, archive, head",
    load: () => import("./audit.ts"),
  },
  {
    name: "config",
    summary: "effective settings: print, check, schema",
    load: () => import("./config.ts"),
  },
  {
    name: "doctor",
    summary: "check this machine and say how to fix what is missing",
    load: () => import("./doctor.ts"),
  },
  {
    name: "open",
    summary: "open the console, or one record in it",
    load: () => import("./open.ts"),
  },
  { name: "api", summary: "any endpoint, authenticated", load: () => import("./api.ts") },
  {
    name: "completion",
    summary: "completion script for bash, zsh or fish",
    load: () => import("./completion.ts"),
  },
  { name: "version", summary: "version and runtime", load: () => import("./version.ts") },
];

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
    load: () => import("./commands/serve.ts"),
  },
  {
    name: "connect",
    summary: "write the configuration of an AI client, and create its key",
    load: () => import("./commands/connect.ts"),
  },
  {
    name: "disconnect",
    summary: "take that back, and revoke the key",
    load: () => import("./commands/disconnect.ts"),
  },
  {
    name: "mcp",
    summary: "speak MCP on stdin and stdout",
    load: () => import("./commands/mcp.ts"),
  },
  {
    name: "call",
    summary: "run one tool through the whole path",
    load: () => import("./commands/call.ts"),
  },
  {
    name: "chat",
    summary: "talk to an agent: one message, or a conversation",
    load: () => import("./commands/chat.ts"),
  },
  {
    name: "sessions",
    summary: "conversations with agents: list, show, messages, search, export, end, reopen",
    load: () => import("./commands/sessions.ts"),
  },
  {
    name: "plan",
    summary: "the tools of a pipeline's plan, in order: run",
    load: () => import("./commands/plan.ts"),
  },
  {
    name: "tools",
    summary: "the catalogue as you see it; tools that were drafted: add, review, link",
    load: () => import("./commands/tools.ts"),
  },
  {
    name: "explain",
    summary: "why a call was, or would be, allowed or refused",
    load: () => import("./commands/explain.ts"),
  },
  {
    name: "runs",
    summary: "your executions: list, show, watch, cancel",
    load: () => import("./commands/runs.ts"),
  },
  {
    name: "workflows",
    summary: "workflows as files, and their runs: apply, validate, run, list, show, logs, export",
    load: () => import("./commands/workflows.ts"),
  },
  {
    name: "schedules",
    summary: "workflows by the clock: list, times, pause, resume, edit, remove",
    load: () => import("./commands/schedules.ts"),
  },
  {
    name: "history",
    summary: "what was run: list, stats, and its rebuild from the log",
    load: () => import("./commands/history.ts"),
  },
  {
    name: "mode",
    summary: "the operating mode: show it, or switch it with a reason",
    load: () => import("./commands/mode.ts"),
  },
  {
    name: "approvals",
    summary: "calls that wait for a person: list, show, approve, deny, watch",
    load: () => import("./commands/approvals.ts"),
  },
  {
    name: "questions",
    summary: "questions that tools ask you: list, answer, decline",
    load: () => import("./commands/questions.ts"),
  },
  {
    name: "keys",
    summary: "API keys: create, list, show, rotate, revoke",
    load: () => import("./commands/keys.ts"),
  },
  {
    name: "whoami",
    summary: "who you are here: user, level, scopes, capsule, key",
    load: () => import("./commands/whoami.ts"),
  },
  {
    name: "sign-ins",
    summary: "who is signed in to the console: list, end",
    load: () => import("./commands/sign-ins.ts"),
  },
  {
    name: "users",
    summary: "users: create, list, show, edit",
    load: () => import("./commands/users.ts"),
  },
  {
    name: "capsules",
    summary: "capsules, the sets of tools that callers hold",
    load: () => import("./commands/capsules.ts"),
  },
  {
    name: "agents",
    summary: "capsules, personas and models as one file: export, import",
    load: () => import("./commands/agents.ts"),
  },
  {
    name: "personas",
    summary: "personas that agents adopt: create, list, show, update, remove",
    load: () => import("./commands/personas.ts"),
  },
  {
    name: "models",
    summary: "models that tools and agents ask: list, show, add, update, test, remove",
    load: () => import("./commands/models.ts"),
  },
  {
    name: "preferences",
    summary: "your own preferences: show, set",
    load: () => import("./commands/preferences.ts"),
  },
  {
    name: "servers",
    summary: "MCP servers behind this one: add, list, tools, approve, diff, logs, import, remove",
    load: () => import("./commands/servers.ts"),
  },
  {
    name: "webhooks",
    summary: "programs outside that are notified of events: add, list, test, rotate, deliveries",
    load: () => import("./commands/webhooks.ts"),
  },
  {
    name: "relations",
    summary: "who may do what to which thing: check, expand, write, delete",
    load: () => import("./commands/relations.ts"),
  },
  {
    name: "plans",
    summary: "plans of tenant, users and keys: list, show, set",
    load: () => import("./commands/plans.ts"),
  },
  {
    name: "budget",
    summary: "what was used of the month's budgets",
    load: () => import("./commands/budget.ts"),
  },
  {
    name: "policy",
    summary:
      "Rego policies: check, test, eval, fmt here; list, diff, replay, publish, rollback on the server",
    load: () => import("./commands/policy.ts"),
  },
  {
    name: "governance",
    summary: "governance files on the server: list, check, diff, publish, rollback",
    load: () => import("./commands/governance.ts"),
  },
  {
    name: "audit",
    summary: "the ledger: tail, search, verify, export, checkpoint, archive, head",
    load: () => import("./commands/audit.ts"),
  },
  {
    name: "config",
    summary: "effective settings: print, check, schema",
    load: () => import("./commands/config.ts"),
  },
  {
    name: "doctor",
    summary: "check this machine and say how to fix what is missing",
    load: () => import("./commands/doctor.ts"),
  },
  {
    name: "open",
    summary: "open the console, or one record in it",
    load: () => import("./commands/open.ts"),
  },
  { name: "api", summary: "any endpoint, authenticated", load: () => import("./commands/api.ts") },
  {
    name: "completion",
    summary: "completion script for bash, zsh or fish",
    load: () => import("./commands/completion.ts"),
  },
  { name: "version", summary: "version and runtime", load: () => import("./commands/version.ts") },
];

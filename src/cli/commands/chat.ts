// Talking to an agent: one message and its answer, or a conversation on the terminal.
import type { Command } from "commander";
import { readFileSync } from "node:fs";
import type { Cli } from "../cli.ts";
import { usage } from "../client/fail.ts";

interface Options {
  session?: string;
  capsule?: string;
  persona?: string;
  model?: string;
  stream: boolean;
  wait: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .usage("[message…] [options]")
    .argument("[message...]", "what to say; - or a pipe: from stdin; nothing: a conversation")
    .option("--session <id>", "continue this session")
    .option("--capsule <id>", "the capsule of a new session (default: yours)")
    .option("--persona <id>", "the persona of a new session")
    .option("--model <name>", "the model to ask (default: the capsule's, or the best one)")
    .option("--no-stream", "show the answer when it is whole")
    .option("--no-wait", "end when a person must agree first (exit 4); the turn continues")
    .action((words: string[], options: Options) => chat(cli, words, options));
}

async function chat(cli: Cli, words: string[], options: Options): Promise<void> {
  const { session: sessionId, capsule: capsuleId, persona: personaId, model } = options;
  const start = {
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(capsuleId === undefined ? {} : { capsuleId }),
    ...(personaId === undefined ? {} : { personaId }),
    ...(model === undefined ? {} : { model }),
  };
  const typed = words.join(" ");
  if (typed === "" && cli.stdin.isTTY) {
    if (!cli.term.interactive || !cli.stdout.isTTY || cli.flags.json)
      throw usage("there is no message", "e.g. ostiary chat what tools do you have");
    const { converse } = await import("../chat/converse.ts");
    return converse(cli, await cli.connect(), start);
  }
  const message = typed === "" || typed === "-" ? readFileSync(0, "utf8").trim() : typed;
  if (message === "")
    throw usage("the message on stdin is empty", "e.g. echo hello | ostiary chat");
  const { chatOnce } = await import("../chat/once.ts");
  await chatOnce(
    cli,
    await cli.connect(),
    { message, ...start },
    { streams: options.stream, waits: options.wait },
  );
}

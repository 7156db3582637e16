// How a drafted program is started in the sandbox, and how its answer is read. The program is untrusted: its answer is
// checked like any input, and only one JSON text on its standard output counts.
import type { Json, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { ProcessJob, ProcessResult } from "../../contract/powers/process.ts";
import type { DraftProgram } from "../../storage/store/store.ts";
import { Exhausted } from "../../util/exhaustion.ts";
import { parseStrict } from "../../util/json/json.ts";

type StartedJob = Pick<ProcessJob, "argv" | "files" | "stdin" | "packages" | "inlineBytes">;

const MAX_ANSWER_BYTES = 1_048_576;
/** Characters of a failed program's message. */
const MAX_MESSAGE = 2_000;
const SHOWN_LINES = 3;

/** What the program prints goes to stderr, so that its answer stands alone on stdout. */
const JS = `
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
process.stdout.write = process.stderr.write.bind(process.stderr);
globalThis.require = createRequire("/job/tool.mjs");
const exit = process.exit.bind(process);
const tell = (answer) => {
  writeFileSync(1, JSON.stringify(answer));
  exit(0);
};
let text = "";
for await (const chunk of process.stdin) text += chunk;
try {
  const { default: run } = await import("/job/tool.mjs");
  if (typeof run !== "function") throw new TypeError("expected \`export default\` of a function");
  const output = await run(JSON.parse(text));
  tell({ output: output === undefined ? null : output });
} catch (cause) {
  tell({ error: cause instanceof Error ? cause.message : String(cause) });
}
`;

const PYTHON = `
import json, os, sys
answer_to = os.dup(1)
os.dup2(2, 1)
def tell(answer):
    data = json.dumps(answer, allow_nan=False).encode()
    while data:
        data = data[os.write(answer_to, data):]
    sys.stderr.flush()
    os._exit(0)
given = json.load(sys.stdin)
try:
    with open("/job/tool.py", encoding="utf-8") as file:
        program = compile(file.read(), "tool.py", "exec")
    scope = {"__name__": "tool", "__file__": "/job/tool.py"}
    exec(program, scope)
    run = scope.get("run")
    if not callable(run):
        raise TypeError("expected a function run(input)")
    tell({"output": run(given)})
except BaseException as cause:
    tell({"error": str(cause) or type(cause).__name__})
`;

const CHECK_PYTHON = `
import sys
try:
    with open("/job/tool.py", encoding="utf-8") as file:
        compile(file.read(), "tool.py", "exec")
except (SyntaxError, ValueError) as cause:
    print(f"line {getattr(cause, 'lineno', None) or 1}: {getattr(cause, 'msg', None) or cause}")
    sys.exit(1)
`;

const NAMES = { js: "tool.mjs", python: "tool.py" } as const;
const STARTERS = {
  js: { argv: ["node", "/job/ostiary-run.mjs"], file: "ostiary-run.mjs", text: JS },
  python: { argv: ["python3", "/job/ostiary-run.py"], file: "ostiary-run.py", text: PYTHON },
} as const;

/** Names that a file beside the program may not have. */
export const OWN_FILES: ReadonlySet<string> = new Set([
  ...Object.values(NAMES),
  ...Object.values(STARTERS).map(({ file }) => file),
]);

export function jobOf(
  program: DraftProgram,
  input: JsonObject,
  files: Readonly<Record<string, string>> = {},
): StartedJob {
  const common = { stdin: JSON.stringify(input), inlineBytes: MAX_ANSWER_BYTES } as const;
  if (program.kind === "command") return { ...common, argv: program.command, files };
  const { argv, file, text } = STARTERS[program.language];
  const own = { [NAMES[program.language]]: program.source, [file]: text };
  return { ...common, argv, packages: "read", files: { ...files, ...own } };
}

/** Parses the program without running it. For a command this only shows that a sandbox is available. */
export function syntaxJob(program: DraftProgram): StartedJob {
  if (program.kind === "command") return { argv: ["true"] };
  const files = { [NAMES[program.language]]: program.source };
  return program.language === "js"
    ? { argv: ["node", "--check", "/job/tool.mjs"], files }
    : {
        argv: ["python3", "/job/check.py"],
        files: { ...files, "check.py": CHECK_PYTHON },
      };
}

/** The message of a failed syntax check, with its line; null: the source can be parsed. */
export function syntaxFault(
  program: DraftProgram,
  { exitCode, stdout, stderr }: ProcessResult,
): { readonly line: number; readonly message: string } | null {
  if (exitCode === 0) return null;
  if (program.kind === "code" && program.language === "js") {
    const line = Number(/tool\.mjs:(\d+)/.exec(stderr)?.[1] ?? 1);
    const message = /^\w*Error: .*$/m.exec(stderr)?.[0] ?? "it cannot be read";
    return { line, message };
  }
  const [, line = "1", message = "it cannot be read"] = /^line (\d+): (.*)/.exec(stdout) ?? [];
  return { line: Number(line), message };
}

/** The answer of a program that ended; throws an error if it failed. */
export function answerOf(
  program: DraftProgram,
  outputSchema: JsonObject | null,
  result: ProcessResult,
): Json {
  const { stdout, exitCode, oom, truncated } = result;
  if (oom)
    throw new AppError("UNAVAILABLE", "resource_exhausted", "the program needs too much memory", {
      remedy: "give it less to do in one call",
      cause: new Exhausted("call_memory"),
    });
  if (truncated) throw failed(`it answers or prints more than ${MAX_ANSWER_BYTES} bytes`);
  if (program.kind === "command") return commandAnswer(outputSchema, result);
  const answer = parsed(stdout);
  if (answer === undefined || exitCode !== 0)
    throw failed(`it ended without an answer (exit ${exitCode})${said(result)}`);
  if (typeof answer === "object" && answer !== null && !Array.isArray(answer)) {
    const { output, error } = answer as JsonObject;
    if (typeof error === "string") throw failed(error);
    if (output !== undefined) return output;
  }
  throw failed("what it wrote is no answer: something else wrote to its standard output");
}

function commandAnswer(outputSchema: JsonObject | null, result: ProcessResult): Json {
  if (result.exitCode !== 0) throw failed(`it ended with exit ${result.exitCode}${said(result)}`);
  if (outputSchema === null) return { stdout: result.stdout };
  const answer = parsed(result.stdout);
  if (answer === undefined) throw failed("its standard output is no JSON text");
  return answer;
}

/** Undefined for text that is not the JSON expected here. */
function parsed(text: string): Json | undefined {
  try {
    return parseStrict(Buffer.from(text));
  } catch {
    return undefined;
  }
}

const said = ({ stderr }: ProcessResult): string => {
  const told = stderr.trimEnd().split("\n").slice(-SHOWN_LINES).join(" ");
  return told === "" ? "" : `: ${told}`;
};

function failed(message: string): AppError {
  const shown = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message;
  return new AppError("EXECUTION_FAILED", "tool_error", `the program failed: ${shown}`, {
    remedy: "check the arguments; if they are right, tell whoever wrote the tool",
  });
}

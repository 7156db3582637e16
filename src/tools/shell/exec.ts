import { z } from "zod";
import { programNotes, programOutput, programOutputShape } from "./shared/program-output.ts";
import { quote } from "../../util/text/quote.ts";
import { splitCommand } from "../../util/shell-words.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

export default defineTool({
  name: "shell/exec",
  displayName: "Run a program",
  description:
    "Run one program with its arguments inside a sandbox that sees only the workspace. No shell is involved: pipes, " +
    "redirections and variables do not work, use shell/script for those. Give the command as a list (best) or as one " +
    "text that is split into words. A non-zero exitCode is an answer, not an error; read stdout and stderr.",
  input: z.strictObject({
    command: z
      .union([z.array(z.string().max(65_536)).min(1).max(200), z.string().min(1).max(8_192)])
      .describe('Program and arguments as a list, e.g. ["ls", "-la", "src"], or as one text.'),
    cwd: z.string().min(1).max(4_096).default(".").describe("Folder of the workspace to start in."),
    env: z
      .record(
        z
          .string()
          .max(256)
          .regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
        z.string().max(65_536),
      )
      .refine((env) => Object.keys(env).length <= 50, "at most 50 variables")
      .meta({ maxProperties: 50 })
      .default({})
      .describe("Variables for the program; PATH, LD_*, *_PROXY and the like are refused."),
    stdin: z
      .string()
      .max(1_048_576)
      .optional()
      .describe("Text given to the program on its standard input."),
    timeoutSeconds: z
      .int()
      .min(1)
      .max(120)
      .default(30)
      .describe("Stop it after this long; cannot exceed the call's own limit."),
    network: z
      .boolean()
      .default(false)
      .describe("Let it reach public hosts through the egress guard; a person may be asked."),
  }),
  output: z.strictObject({
    ...programOutputShape,
  }),
  risk: "dangerous",
  effects: "system_dangerous",
  needs: ["process"],
  sandbox: "rw",
  timeoutMs: 30_000,
  tags: ["shell"],
  aliases: ["shell/execute", "bash", "execute_shell_command"],
  requiredPermissions: ["tool:shell:execute"],
  escalations: [{ argument: "/network", equals: true, sandbox: "rw+net" }],
  touches: [
    { argument: "/command", kind: "argv", from: "/cwd" },
    { argument: "/cwd", kind: "path", access: "read" },
    { argument: "/env", kind: "env" },
    { argument: "/network", kind: "network" },
  ],
  examples: [{ command: ["ls", "-la"] }, { command: "wc -l README.md" }],
  async run({ command, cwd, env, stdin, timeoutSeconds, network }, powers, context) {
    const ended = await powers.process.run({
      argv: argvOf(command),
      workspace: "rw",
      cwd,
      env,
      network,
      timeoutMs: timeoutSeconds * 1_000,
      packages: "read",
      ...(stdin === undefined ? {} : { stdin }),
    });
    context.note(programNotes(ended));
    return programOutput(ended);
  },
});

function argvOf(command: string | readonly string[]): readonly string[] {
  if (typeof command !== "string") return command;
  const split = splitCommand(command);
  if ("argv" in split) return split.argv;
  throw toolError("shell_syntax", `command ${quote(command)}: ${split.wrong}`, {
    remedy:
      "give the command as a list of program and arguments, or use shell/script for shell syntax",
  });
}

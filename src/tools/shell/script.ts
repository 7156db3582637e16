import { z } from "zod";
import { programNotes, programOutput, programOutputShape } from "./shared/program-output.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

const PROGRAMS = { sh: "sh", bash: "bash", node: "node", python: "python3" } as const;
const NAMES = {
  sh: "script.sh",
  bash: "script.sh",
  node: "script.js",
  python: "script.py",
} as const;

export default defineTool({
  name: "shell/script",
  displayName: "Run a script",
  description:
    "Run a script of sh, bash, node or python inside a sandbox that sees only the workspace. Use it where shell/exec is " +
    "not enough: pipes, loops, several steps. What it writes in the workspace stays and is listed in filesWritten; " +
    "protected paths such as .git cannot be written. A non-zero exitCode is an answer, not an error.",
  input: z.strictObject({
    script: z.string().min(1).max(262_144).describe("The text of the script."),
    interpreter: z.enum(["sh", "bash", "node", "python"]).default("sh").describe("What runs it."),
    args: z
      .array(z.string().max(65_536))
      .max(200)
      .default([])
      .describe("Arguments the script is given."),
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
      .describe("Variables for the script; PATH, LD_*, *_PROXY and the like are refused."),
    stdin: z
      .string()
      .max(1_048_576)
      .optional()
      .describe("Text given to the script on its standard input."),
    timeoutSeconds: z
      .int()
      .min(5)
      .max(300)
      .default(60)
      .describe("Stop it after this long; cannot exceed the call's own limit."),
    network: z
      .boolean()
      .default(false)
      .describe("Let it reach public hosts through the egress guard; a person may be asked."),
  }),
  output: z.strictObject({
    ...programOutputShape,
    filesWritten: z
      .array(z.strictObject({ path: z.string(), bytes: z.int() }))
      .describe("Files of the workspace that it made or changed."),
  }),
  risk: "dangerous",
  effects: "system_dangerous",
  needs: ["process"],
  sandbox: "rw",
  timeoutMs: 60_000,
  tags: ["shell"],
  aliases: ["shell/run_script", "run_script"],
  requiredPermissions: ["tool:shell:execute"],
  escalations: [{ argument: "/network", equals: true, sandbox: "rw+net" }],
  touches: [
    { argument: "/cwd", kind: "path", access: "read" },
    { argument: "/env", kind: "env" },
    { argument: "/network", kind: "network" },
  ],
  examples: [{ script: 'for f in *; do echo "$f"; done' }],
  async run(
    { script, interpreter, args, cwd, env, stdin, timeoutSeconds, network },
    powers,
    context,
  ) {
    const program = await powers.process.find(PROGRAMS[interpreter]);
    if (program === null)
      throw toolError("interpreter_missing", `${interpreter} is not installed on the server`, {
        remedy: `install ${PROGRAMS[interpreter]} on the server, or use another interpreter`,
      });
    const ended = await powers.process.run({
      argv: [program, `/job/${NAMES[interpreter]}`, ...args],
      files: { [NAMES[interpreter]]: script },
      workspace: "rw",
      cwd,
      env,
      network,
      timeoutMs: timeoutSeconds * 1_000,
      packages: "read",
      ...(stdin === undefined ? {} : { stdin }),
    });
    context.note(programNotes(ended));
    return {
      ...programOutput(ended),
      filesWritten: ended.filesWritten.slice(0, 1_000).map((one) => ({ ...one })),
    };
  },
});

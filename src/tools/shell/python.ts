import { z } from "zod";
import { programNotes, programOutput, programOutputShape } from "./shared/program-output.ts";
import type { ToolPowers } from "../../contract/powers.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

/** Prints which of its arguments are no installed distribution and no module. */
const MISSING = `
import sys, importlib.metadata, importlib.util
def missing(name):
    try:
        importlib.metadata.distribution(name)
        return False
    except importlib.metadata.PackageNotFoundError:
        pass
    try:
        return importlib.util.find_spec(name.replace("-", "_")) is None
    except (ImportError, ValueError):
        return True
print("\\n".join(name for name in sys.argv[1:] if missing(name)))
`;

export default defineTool({
  name: "shell/python",
  displayName: "Run Python",
  description:
    "Run a Python 3 script inside a sandbox that sees only the workspace (the current folder). Name the packages it " +
    "needs in packages: they must be installed already (see system/package_install). Print what you want to see. " +
    "A non-zero exitCode is an answer, not an error: the traceback is in stderr.",
  input: z.strictObject({
    script: z.string().min(1).max(262_144).describe("The text of the script."),
    args: z
      .array(z.string().max(65_536))
      .max(200)
      .default([])
      .describe("What the script finds in sys.argv[1:]."),
    packages: z
      .array(
        z
          .string()
          .max(100)
          .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/),
      )
      .max(50)
      .default([])
      .describe("Packages the script imports; checked before it runs."),
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
  tags: ["shell", "python"],
  aliases: ["run_python", "code_execute"],
  requiredPermissions: ["tool:shell:execute"],
  escalations: [{ argument: "/network", equals: true, sandbox: "rw+net" }],
  touches: [{ argument: "/network", kind: "network" }],
  examples: [{ script: "print(sum(range(10)))" }],
  async run({ script, args, packages, timeoutSeconds, network }, powers, context) {
    const program = await powers.process.find("python3");
    if (program === null)
      throw toolError("interpreter_missing", "python3 is not installed on the server", {
        remedy: "install python3 on the server",
      });
    await requirePackages(program, packages, powers);
    const ended = await powers.process.run({
      argv: [program, "/job/script.py", ...args],
      files: { "script.py": script },
      workspace: "rw",
      network,
      timeoutMs: timeoutSeconds * 1_000,
      packages: "read",
    });
    context.note(programNotes(ended));
    return {
      ...programOutput(ended),
      filesWritten: ended.filesWritten.slice(0, 1_000).map((one) => ({ ...one })),
    };
  },
});

async function requirePackages(
  program: string,
  packages: readonly string[],
  powers: Pick<ToolPowers, "process">,
): Promise<void> {
  if (packages.length === 0) return;
  const { stdout } = await powers.process.run({
    argv: [program, "/job/missing.py", ...packages],
    files: { "missing.py": MISSING },
    workspace: "none",
    packages: "read",
  });
  const missing = stdout.split("\n").filter((name) => name !== "");
  if (missing.length > 0)
    throw toolError("package_missing", `not installed: ${missing.join(", ")}`, {
      remedy: "install them with system/package_install, or do without",
    });
}

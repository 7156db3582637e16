// The arguments fit the tool's JSON Schema; every fault has its path, what was expected and a suggestion.
import { hasForeignSchema } from "../../contract/tool.ts";
import { allow, deny, notFound, type Stage } from "./stage.ts";

export const input: Stage = {
  name: "input",
  engine: "validator",
  hides: false,
  decide(subject, powers) {
    const { tool } = subject;
    if (tool === null) return notFound(subject);
    const { validators } = powers;
    const faults = hasForeignSchema(tool)
      ? validators.checkForeign(tool.inputSchema, subject.arguments)
      : validators.check(tool.inputSchema, subject.arguments);
    if (faults === null) return allow();
    const unknown = faults.every((fault) => fault.message.startsWith("unknown parameter"));
    return deny("BAD_REQUEST", unknown ? "unknown_parameter" : "invalid_arguments", {
      message: `Input validation failed: ${faults.map((f) => `${f.path} ${f.message}`).join("; ")}`,
      remedy: faults.map((fault) => fault.suggestion).join("; "),
      errors: faults,
    });
  },
};

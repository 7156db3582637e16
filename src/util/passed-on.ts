// The outcome of an inner call, told as if the caller had made it.
import type { Json, Outcome } from "../contract/call.ts";
import type { Fault } from "../contract/errors.ts";
import { CONTENT_KEY, partialOf, unpackResult } from "./mcp-output.ts";

/** What it answered, or why it did not and what it had so far (null: nothing). */
export type PassedOn =
  | { readonly output: Json; readonly fault: null }
  | { readonly output: null; readonly fault: Fault; readonly partial: Json };

/** For a program: the plain value. What a server packed in blocks is its structured content, else its text, else the blocks. */
export function plainly(outcome: Outcome): PassedOn {
  const { success, output, error } = outcome;
  if (success) return { output: plainValue(output), fault: null };
  if (error === null) return passedOn(outcome);
  return { output: null, fault: error, partial: plainValue(partialOf(outcome)) };
}

function plainValue(output: Json): Json {
  if (typeof output !== "object" || output === null || !(CONTENT_KEY in output)) return output;
  const { content, structuredContent } = unpackResult(output);
  if (structuredContent !== undefined) return structuredContent;
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  if (texts.length === content.length) return texts.join("\n");
  return { content: content as unknown as Json };
}

export function passedOn(outcome: Outcome): PassedOn {
  const { success, output, error, endedAt } = outcome;
  // A server's tool that says itself that it failed has told how in its own blocks.
  if (success || saysItFailed(output)) return { output, fault: null };
  if (endedAt === null) return { output: null, fault: waiting(outcome), partial: null };
  return { output: null, fault: error ?? unexpected(outcome), partial: partialOf(outcome) };
}

const unexpected = ({ status }: Outcome): Fault => ({
  code: "EXECUTION_FAILED",
  reason: "unexpected",
  message: `the call ended as ${status}`,
});

function saysItFailed(output: Json): boolean {
  return (
    typeof output === "object" &&
    output !== null &&
    "$isError" in output &&
    output.$isError === true
  );
}

function waiting({ executionId, toolName, approval, status }: Outcome): Fault {
  const comeBack = `call ostiary_call with the same name and arguments and executionId ${executionId}: it is not run twice`;
  if (approval?.state !== "pending")
    return {
      code: "CONFLICT",
      reason: "still_running",
      message: `${toolName} is ${status} as ${executionId}`,
      remedy: comeBack,
    };
  const until = new Date(approval.expiresAt).toISOString();
  return {
    code: "CONFLICT",
    reason: "approval_required",
    message: `PENDING: ${toolName} waits for a person's approval ${approval.id} until ${until}; nothing has run (execution ${executionId})`,
    remedy: `ask for the approval, then ${comeBack}`,
  };
}

// The outcome of an inner call, as its caller would have received it from a direct call.
import type { Json, Outcome } from "../../../contract/call.ts";
import type { Fault } from "../../../contract/errors.ts";
import { CONTENT_KEY, partialOf, unpackResult } from "../../../util/mcp-output.ts";

/** Its output, or its fault and the partial output (null: none). */
export type InnerResult =
  | { readonly output: Json; readonly fault: null }
  | { readonly output: null; readonly fault: Fault; readonly partial: Json };

/** The plain value, for a program: of content blocks their structured content, else their text, else the blocks. */
export function plainInnerResult(outcome: Outcome): InnerResult {
  const { success, output, error } = outcome;
  if (success) return { output: plainValue(output), fault: null };
  if (error === null) return innerResult(outcome);
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

export function innerResult(outcome: Outcome): InnerResult {
  const { success, output, error, endedAt } = outcome;
  // An MCP tool that reports an error describes it in its own content.
  if (success || isErrorResult(output)) return { output, fault: null };
  if (endedAt === null) return { output: null, fault: faultOfWaiting(outcome), partial: null };
  return { output: null, fault: error ?? faultOfStatus(outcome), partial: partialOf(outcome) };
}

const faultOfStatus = ({ status }: Outcome): Fault => ({
  code: "EXECUTION_FAILED",
  reason: "unexpected",
  message: `the call ended as ${status}`,
});

function isErrorResult(output: Json): boolean {
  return (
    typeof output === "object" &&
    output !== null &&
    "$isError" in output &&
    output.$isError === true
  );
}

function faultOfWaiting({ executionId, toolName, approval, status }: Outcome): Fault {
  const retry = `call ostiary_call with the same name and arguments and executionId ${executionId}: it is not run twice`;
  if (approval?.state !== "pending")
    return {
      code: "CONFLICT",
      reason: "still_running",
      message: `${toolName} is ${status} as ${executionId}`,
      remedy: retry,
    };
  const until = new Date(approval.expiresAt).toISOString();
  return {
    code: "CONFLICT",
    reason: "approval_required",
    message: `PENDING: ${toolName} waits for a person's approval ${approval.id} until ${until}; nothing has run (execution ${executionId})`,
    remedy: `ask for the approval, then ${retry}`,
  };
}

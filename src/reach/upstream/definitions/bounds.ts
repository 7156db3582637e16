// How large and how strange a definition may be before it is not taken at all.
import type { JsonObject } from "../../../contract/call.ts";
import type { ForeignDefinition } from "../../../storage/store/store.ts";
import { schemaFault } from "../../../util/schema/foreign-schema.ts";

const MAX_DESCRIPTION = 10_000;
const MAX_TITLE = 500;
const MAX_ANNOTATIONS = 4_096;

/** Why it is not taken, with the place; null when it is fine. */
export function boundsFault(definition: ForeignDefinition): string | null {
  const { title, description, inputSchema, outputSchema, annotations, operation } = definition;
  if (description.length > MAX_DESCRIPTION)
    return `/description has ${description.length} characters, at most ${MAX_DESCRIPTION} are taken`;
  if ((title?.length ?? 0) > MAX_TITLE)
    return `/title has ${title?.length} characters, at most ${MAX_TITLE} are taken`;
  const input = schemaFault(inputSchema);
  if (input !== null) return `/inputSchema: ${input}`;
  if (inputSchema["type"] !== "object")
    return `/inputSchema: expected "type": "object" at the top, got ${JSON.stringify(inputSchema["type"]) ?? "nothing"}`;
  const output = outputSchema === null ? null : schemaFault(outputSchema);
  if (output !== null) return `/outputSchema: ${output}`;
  return (
    dataFault("/annotations", annotations, MAX_ANNOTATIONS) ??
    dataFault("/operation", operation, 16 * MAX_ANNOTATIONS)
  );
}

function dataFault(path: string, data: JsonObject | null, maxBytes: number): string | null {
  if (data === null) return null;
  let text: string;
  try {
    text = JSON.stringify(data);
  } catch {
    return `${path} is nested too deep`;
  }
  return text.length <= maxBytes
    ? null
    : `${path} takes ${text.length} characters, at most ${maxBytes} are taken`;
}

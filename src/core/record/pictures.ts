// Pictures are answered but not recorded: megabytes per call would soon fill the record. The tool keeps the file
// itself.
import type { Json, JsonObject } from "../../contract/call.ts";

/** Of a block's data, in base64; what is smaller stays. */
const MAX_KEPT = 4_096;

/** The same value when there is nothing to take out. `$content` holds the parts of a result that are not JSON. */
export function withoutPictures(output: Json): Json {
  if (!isObject(output)) return output;
  const blocks = output["$content"];
  if (!Array.isArray(blocks) || !(blocks as readonly Json[]).some(isLarge)) return output;
  return {
    ...output,
    $content: (blocks as readonly Json[]).map((block) =>
      isLarge(block) ? described(block) : block,
    ),
  };
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isLarge = (block: Json): block is JsonObject & { readonly data: string } =>
  isObject(block) && typeof block["data"] === "string" && block["data"].length > MAX_KEPT;

function described(block: JsonObject & { readonly data: string }): JsonObject {
  const bytes = Math.floor((block.data.length * 3) / 4);
  const type = typeof block["mimeType"] === "string" ? block["mimeType"] : "data";
  return { type: "text", text: `[${type}, ${bytes} bytes, not kept in the record]` };
}

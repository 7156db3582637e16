// What a reviewer agrees to, as one hash: name, definition and program of a drafted tool.
import { createHash } from "node:crypto";
import type { Json } from "../../contract/call.ts";
import type { ToolDraftRow } from "../../storage/store/store.ts";
import { canonicalJson } from "../../util/json/json.ts";

export function draftHash({
  name,
  definition,
  program,
}: Pick<ToolDraftRow, "name" | "definition" | "program">): string {
  // Rows hold plain data.
  const facts = { name, definition, program } as unknown as Json;
  return createHash("sha256").update(canonicalJson(facts)).digest("hex");
}

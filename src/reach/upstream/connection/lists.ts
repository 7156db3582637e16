// Lists of what a server offers besides tools. Their entries are not approved one by one, so an entry that hides
// something or gives orders to the model is left out, and secrets are masked.
import { setImmediate as turn } from "node:timers/promises";
import type { Json, JsonObject } from "../../../contract/call.ts";
import { firstDanger } from "../scan/scan.ts";

const LISTS: Readonly<Record<string, string>> = {
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
  "prompts/list": "prompts",
};
/** Nobody describes a prompt at such length. */
const MAX_ENTRY = 65_536;
/** Reading takes time; others come in between. */
const ENTRIES_PER_TURN = 20;

export interface ListPowers {
  readonly cleaned: (value: Json) => Json;
  readonly leftOut: (line: string) => void;
}

/** The same result without what must not be shown. What is no list is given as it is. */
export async function withoutDangerousEntries(
  method: string,
  result: JsonObject,
  p: ListPowers,
): Promise<JsonObject> {
  const field = LISTS[method];
  const entries = field === undefined ? undefined : result[field];
  if (field === undefined || !Array.isArray(entries)) return result;
  const shown: Json[] = [];
  for (const [at, entry] of (entries as readonly Json[]).entries()) {
    if (at % ENTRIES_PER_TURN === ENTRIES_PER_TURN - 1) await turn();
    const why = omissionReason(entry);
    if (why === null) shown.push(p.cleaned(entry));
    else p.leftOut(`[ostiary] an entry of ${method} was left out: ${why}`);
  }
  return { ...result, [field]: shown };
}

function omissionReason(entry: Json): string | null {
  const size = JSON.stringify(entry).length;
  if (size > MAX_ENTRY) return `it has ${size} characters`;
  const found = firstDanger(entry);
  return found && `${found.path}: ${found.message}; ${found.excerpt}`;
}

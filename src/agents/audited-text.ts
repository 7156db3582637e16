// What people and models say, as the ledger keeps it: masked, and not endless.
import type { JsonObject } from "../contract/call.ts";
import type { Generated } from "../contract/powers/model.ts";

const AUDITED_CHARS = 4_000;

/** `cut`: so long it was. */
export function auditedText(text: string, mask: (text: string) => string): JsonObject {
  const masked = mask(text);
  return {
    text: masked.slice(0, AUDITED_CHARS),
    ...(masked.length > AUDITED_CHARS ? { cut: masked.length } : {}),
  };
}

/** What is reported of a model's answer besides its text. */
export const aboutAnswer = ({ calls, model, usage, cost, attempts }: Generated): JsonObject => ({
  model,
  tokens: { ...usage },
  cost,
  ...(attempts.length > 0 ? { attempts: attempts as unknown as JsonObject[] } : {}),
  ...(calls.length > 0 ? { calls: calls.map(({ name }) => name) } : {}),
});

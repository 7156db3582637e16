import type { JsonObject } from "../../../contract/call.ts";
import type { Generated } from "../../../contract/powers.ts";

/** For the record: what the answers cost in US dollars, and which models failed before. */
export function spent(...answers: readonly Pick<Generated, "cost" | "attempts">[]): JsonObject {
  const cost = answers.reduce((sum, one) => sum + one.cost, 0);
  const failed = answers.flatMap(({ attempts }) =>
    attempts.map(({ model, reason }) => ({ model, reason })),
  );
  return {
    ...(cost > 0 && { cost }),
    ...(failed.length > 0 && { modelAttempts: failed }),
  };
}

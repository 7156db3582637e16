// A listing asks about every tool: what is asked in the same moment goes to the relation engine as one question.
import type { GatePowers } from "../gate/index.ts";
import type { CheckRequest, CheckResult } from "../relation/relation.ts";

type Engine = GatePowers["relations"];

interface Waiting {
  readonly request: CheckRequest;
  readonly resolve: (result: CheckResult | Promise<never>) => void;
}

export function together(relations: Engine): Engine {
  // Answers in process need no gathering.
  if (relations.revision !== null) return relations;
  let waiting: Waiting[] = [];
  const ask = async (): Promise<void> => {
    const asked = waiting;
    waiting = [];
    try {
      const results = await relations.checkMany(asked.map(({ request }) => request));
      asked.forEach(({ resolve }, index) => resolve(results[index] ?? Promise.reject(missing())));
    } catch (cause) {
      for (const { resolve } of asked) resolve(Promise.reject(cause as Error));
    }
  };
  return {
    revision: null,
    expand: (resource, permission) => relations.expand(resource, permission),
    checkMany: (requests) => relations.checkMany(requests),
    check: (request) =>
      new Promise((resolve) => {
        waiting.push({ request, resolve });
        if (waiting.length === 1) setImmediate(() => void ask());
      }),
  };
}

const missing = (): Error => new Error("the relation engine left a question unanswered");

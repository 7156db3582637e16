// A listing asks about every tool: what is asked in the same moment goes to the relation engine as one question.
import type { GatePowers } from "../gate/index.ts";
import type { CheckRequest, CheckResult } from "../../governance/relations/relation.ts";

type Engine = GatePowers["relations"];

interface Waiting {
  readonly request: CheckRequest;
  readonly resolve: (result: CheckResult | Promise<never>) => void;
}

export function together(relations: Engine): Engine {
  // Answers in process need no gathering.
  if (relations.revision !== null) return relations;
  let waiting: Waiting[] = [];
  const ask = (): void => {
    const asked = waiting;
    waiting = [];
    Promise.try(() => relations.checkMany(asked.map(({ request }) => request))).then(
      (results) =>
        asked.forEach(({ resolve }, at) => resolve(results[at] ?? Promise.reject(missing()))),
      (cause: Error) => asked.forEach(({ resolve }) => resolve(Promise.reject(cause))),
    );
  };
  return {
    revision: null,
    expand: (resource, permission) => relations.expand(resource, permission),
    checkMany: (requests) => relations.checkMany(requests),
    check: (request) =>
      new Promise((resolve) => {
        waiting.push({ request, resolve });
        if (waiting.length === 1) setImmediate(ask);
      }),
  };
}

const missing = (): Error => new Error("the relation engine left a question unanswered");

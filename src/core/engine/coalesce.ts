// A listing checks every tool: checks of the same turn of the event loop go to the relation engine as one request.
import type { GatePowers } from "../gate/index.ts";
import type { CheckRequest, CheckResult } from "../../governance/relations/relation.ts";

type Engine = GatePowers["relations"];

interface Waiting {
  readonly request: CheckRequest;
  readonly resolve: (result: CheckResult | Promise<never>) => void;
}

export function coalesceChecks(relations: Engine): Engine {
  // An engine in this process answers at once; only a remote one gains from fewer requests.
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

// Permission checks, many in one request.
import type { CheckRequest, CheckResult } from "../relation.ts";
import { isObjectId } from "../text.ts";
import type { SpicedbClient } from "./client.ts";
import * as convert from "./convert.ts";
import type { Requests } from "./requests.ts";

/** Checks in one request. */
const BATCH = 1_000;
/** Sent instead of an id the server would refuse: an outage must have the same effect for every name. */
const HARMLESS_ID = "_";

export interface Checks {
  one(request: CheckRequest): Promise<CheckResult>;
  many(requests: readonly CheckRequest[]): Promise<readonly CheckResult[]>;
  /** Rejects when the server does not answer. */
  ping(): Promise<void>;
}

export function createChecks(server: SpicedbClient, { fresh }: Requests): Checks {
  const checkBatch = (requests: readonly CheckRequest[]): Promise<CheckResult[]> =>
    fresh(async ({ consistency, learn }) => {
      const items = requests.map((request) => convert.checkMessage(legal(request)));
      const { pairs, checkedAt } = await server.check({ consistency, items, withTracing: false });
      learn(checkedAt);
      return requests.map((request, i) => {
        const { request: asked, response } = pairs[i] ?? {};
        const same =
          asked?.resource?.objectId === items[i]?.resource?.objectId &&
          asked?.subject?.object?.objectId === items[i]?.subject?.object?.objectId;
        if (!same || !response || response.oneofKind === undefined)
          throw new Error("SpiceDB answered a different check than the one it was sent");
        if (response.oneofKind === "item")
          return isLegal(request) ? convert.checkResult(response.item) : { has: "no" };
        const { code, message } = response.error;
        throw Object.assign(new Error(message), { code, details: message });
      });
    });

  return {
    one: async (request) => (await checkBatch([request]))[0] ?? { has: "no" },
    async many(requests) {
      const batches: Promise<CheckResult[]>[] = [];
      for (let i = 0; i < requests.length; i += BATCH)
        batches.push(checkBatch(requests.slice(i, i + BATCH)));
      return (await Promise.all(batches)).flat();
    },
    async ping() {
      await checkBatch([]);
    },
  };
}

const isLegal = ({ resource, subject }: CheckRequest): boolean =>
  isObjectId(resource.id) && (isObjectId(subject.id) || subject.id === "*");

function legal(request: CheckRequest): CheckRequest {
  if (isLegal(request)) return request;
  const { resource, subject } = request;
  return {
    ...request,
    resource: { ...resource, id: HARMLESS_ID },
    subject: { ...subject, id: HARMLESS_ID },
  };
}

// Relations kept and judged by a SpiceDB server, over gRPC.
import type { v1 } from "@authzed/authzed-node";
import { parseAddress } from "./spicedb/address.ts";
import { connectSpicedb } from "./spicedb/client.ts";
import * as convert from "./spicedb/convert.ts";
import {
  ALREADY_EXISTS,
  faultOfServer,
  NOT_FOUND,
  serverFault,
  tokenRefused,
} from "./spicedb/faults.ts";
import { createFreshness, type Freshness } from "./spicedb/freshness.ts";
import type { CheckRequest, CheckResult, RelationChange, Relations } from "./relation.ts";
import type { EmbeddedPowers } from "./embedded/index.ts";
import { isObjectId } from "./text.ts";

/** Checks that travel together. */
const BATCH = 1_000;
/** The server's own limit of a page, less the one row that tells whether there is a next page. */
const MAX_PAGE = 999;
/** Asked for instead of an id the server would refuse: an outage must look alike for every name. */
const HARMLESS_ID = "_";

export function openSpicedbRelations(
  address: string,
  { follower }: Pick<EmbeddedPowers, "follower">,
): Relations {
  const where = parseAddress(address);
  const server = connectSpicedb(where);
  const freshness = createFreshness(where.alwaysFresh);
  const listeners = new Set<() => void>();
  const changed = (): void => {
    freshness.renew();
    for (const listener of listeners) listener();
  };
  const unfollow = follower?.on("relations", changed);

  const refusals = async <A>(work: Promise<A>): Promise<A> => {
    try {
      return await work;
    } catch (cause) {
      // A write that was not answered may have been done all the same.
      freshness.renew();
      throw faultOfServer(serverFault(cause), cause);
    }
  };
  const fresh = async <A>(ask: (now: ReturnType<Freshness["next"]>) => Promise<A>): Promise<A> => {
    if (mayHaveMissed(follower)) freshness.renew();
    try {
      return await ask(freshness.next());
    } catch (cause) {
      if (!tokenRefused(serverFault(cause))) throw faultOfServer(serverFault(cause), cause);
      freshness.renew();
      return refusals(ask(freshness.next()));
    }
  };
  const committed = async (token: { token: string } | undefined): Promise<{ revision: string }> => {
    changed();
    await follower?.changed("relations");
    return { revision: token?.token ?? "" };
  };

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
          throw new Error("SpiceDB answered something else than it was asked");
        if (response.oneofKind === "item")
          return isLegal(request) ? convert.checkResult(response.item) : { has: "no" };
        const { code, message } = response.error;
        throw Object.assign(new Error(message), { code, details: message });
      });
    });

  const checkMany = async (requests: readonly CheckRequest[]): Promise<readonly CheckResult[]> => {
    const batches: Promise<CheckResult[]>[] = [];
    for (let i = 0; i < requests.length; i += BATCH)
      batches.push(checkBatch(requests.slice(i, i + BATCH)));
    return (await Promise.all(batches)).flat();
  };

  return {
    engine: "spicedb",
    // Its answers change without our knowing.
    revision: null,
    check: async (request) => (await checkBatch([request]))[0] ?? { has: "no" },
    checkMany,
    lookupResources: ({ type, permission, subject, context }) =>
      fresh(async ({ consistency }) => {
        const found = await server.lookupResources({
          consistency,
          resourceObjectType: type,
          permission,
          subject: convert.subjectMessage(subject),
          optionalLimit: 0,
          ...convert.contextMessage(context),
        });
        return convert.merged(found.map(convert.foundResource));
      }),
    lookupSubjects: ({ resource, permission, subjectType, subjectRelation = "", context }) =>
      fresh(async ({ consistency }) => {
        const found = await server.lookupSubjects({
          consistency,
          resource: convert.objectMessage(resource),
          permission,
          subjectObjectType: subjectType,
          optionalSubjectRelation: subjectRelation,
          optionalConcreteLimit: 0,
          wildcardOption: 0,
          ...convert.contextMessage(context),
        });
        return convert.merged(found.map(convert.foundSubject));
      }),
    expand: (resource, permission) =>
      fresh(async ({ consistency }) => {
        const asked = { consistency, resource: convert.objectMessage(resource), permission };
        const { treeRoot } = await server.expand(asked);
        if (!treeRoot) throw new Error("SpiceDB answered no tree");
        return convert.treeOf(treeRoot, { resource, name: permission });
      }),
    read: (filter, { limit, after }) =>
      fresh(async ({ consistency }) => {
        const size = Math.min(limit, MAX_PAGE);
        const cursor = after === undefined ? {} : { optionalCursor: { token: after } };
        // Without any condition the server reads only in bulk, in parts of a page.
        if (Object.values(filter).every((value) => value === undefined)) {
          const [part, more] = await server.readAll({
            consistency,
            optionalLimit: size,
            ...cursor,
          });
          const items = part?.relationships.map(convert.relationshipOf) ?? [];
          return { items, next: more ? (part?.afterResultCursor?.token ?? null) : null };
        }
        const relationshipFilter = convert.filterMessage(filter);
        const rows = await server.read({
          consistency,
          relationshipFilter,
          optionalLimit: size + 1,
          ...cursor,
        });
        const items = rows.slice(0, size).map((row) => convert.relationshipOf(row.relationship));
        return {
          items,
          next: rows.length > size ? (rows[size - 1]?.afterResultCursor?.token ?? null) : null,
        };
      }),
    async write(changes, preconditions = []) {
      const optionalPreconditions = preconditions.map(convert.preconditionMessage);
      const send = async (): Promise<v1.WriteRelationshipsResponse> => {
        try {
          return await server.write({
            updates: changes.map(convert.changeMessage),
            optionalPreconditions,
          });
        } catch (cause) {
          // For the server what has expired is still in the way of a create, until it is swept.
          if (serverFault(cause)?.code !== ALREADY_EXISTS) throw cause;
          const absent = changes.filter(isCreate).map(convert.absentMessage);
          const updates = changes.map((one) =>
            convert.changeMessage(isCreate(one) ? { ...one, operation: "touch" } : one),
          );
          return server
            .write({ updates, optionalPreconditions: [...optionalPreconditions, ...absent] })
            .catch(() => {
              throw cause;
            });
        }
      };
      return committed((await refusals(send())).writtenAt);
    },
    async schema() {
      try {
        return (await server.readSchema()).schemaText;
      } catch (cause) {
        const fault = serverFault(cause);
        if (fault?.code === NOT_FOUND) return "";
        throw faultOfServer(fault, cause);
      }
    },
    async writeSchema(text) {
      return committed((await refusals(server.writeSchema({ schema: text }))).writtenAt);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async ping() {
      await checkBatch([]);
    },
    close() {
      unfollow?.();
      server.close();
      return Promise.resolve();
    },
  };
}

/** Others may have changed something unheard: only the newest state will do. */
function mayHaveMissed(follower: EmbeddedPowers["follower"]): boolean {
  try {
    follower?.assertFresh();
    return false;
  } catch {
    return true;
  }
}

const isCreate = ({ operation }: RelationChange): boolean => operation === "create";

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

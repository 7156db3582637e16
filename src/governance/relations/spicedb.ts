// Relations stored and evaluated by a SpiceDB server, over gRPC.
import type { EmbeddedPowers } from "./embedded/index.ts";
import type { Relations } from "./relation.ts";
import { parseAddress } from "./spicedb/address.ts";
import { createChecks } from "./spicedb/checks.ts";
import { connectSpicedb } from "./spicedb/client.ts";
import { faultOfServer, NOT_FOUND, serverFault } from "./spicedb/faults.ts";
import { createFreshness } from "./spicedb/freshness.ts";
import { createReads } from "./spicedb/reads.ts";
import { createRequests } from "./spicedb/requests.ts";
import { writeRelationships } from "./spicedb/write.ts";

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
  const requests = createRequests(freshness, follower, changed);
  const checks = createChecks(server, requests);

  return {
    engine: "spicedb",
    // Its answers change without our knowing.
    revision: null,
    check: checks.one,
    checkMany: checks.many,
    ...createReads(server, requests),
    write: (changes, preconditions = []) =>
      requests.committed(
        writeRelationships(server, changes, preconditions).then(({ writtenAt }) => writtenAt),
      ),
    async schema() {
      try {
        return (await server.readSchema()).schemaText;
      } catch (cause) {
        const fault = serverFault(cause);
        if (fault?.code === NOT_FOUND) return "";
        throw faultOfServer(fault, cause);
      }
    },
    writeSchema: (text) =>
      requests.committed(server.writeSchema({ schema: text }).then(({ writtenAt }) => writtenAt)),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    ping: checks.ping,
    close() {
      unfollow?.();
      server.close();
      return Promise.resolve();
    },
  };
}

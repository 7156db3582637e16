// The one set of queries, the same on both databases.
import type { Database } from "../database.ts";
import type { Store } from "../store.ts";
import { capabilities } from "./capabilities.ts";
import { capsules } from "./capsules.ts";
import { executions } from "./executions.ts";
import { facts } from "./facts.ts";
import { idempotency } from "./idempotency.ts";
import { keys } from "./keys.ts";
import { logReads } from "./log.ts";
import { memory } from "./memory.ts";
import { tenants } from "./tenants.ts";
import { users } from "./users.ts";

export function queries(
  database: Database,
  append: Store["log"]["append"],
): Omit<Store, "kind" | "shared" | "ping" | "close"> {
  return {
    log: { append, ...logReads(database) },
    executions: executions(database),
    idempotency: idempotency(database),
    tenants: tenants(database),
    users: users(database),
    keys: keys(database),
    capsules: capsules(database),
    capabilities: capabilities(database),
    memory: memory(database),
    facts: facts(database),
  };
}

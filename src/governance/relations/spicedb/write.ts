// Writes relationships in one request; a create may need a second one.
import type { v1 } from "@authzed/authzed-node";
import type { Precondition, RelationChange } from "../relation.ts";
import type { SpicedbClient } from "./client.ts";
import * as convert from "./convert.ts";
import { ALREADY_EXISTS, serverFault } from "./faults.ts";

export async function writeRelationships(
  server: SpicedbClient,
  changes: readonly RelationChange[],
  preconditions: readonly Precondition[],
): Promise<v1.WriteRelationshipsResponse> {
  const optionalPreconditions = preconditions.map(convert.preconditionMessage);
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
}

const isCreate = ({ operation }: RelationChange): boolean => operation === "create";

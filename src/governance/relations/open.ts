// Chooses the relation engine; the client of SpiceDB loads only when it is chosen.
import { openEmbeddedRelations, type EmbeddedPowers } from "./embedded/index.ts";
import type { Relations } from "./relation.ts";

export async function openRelations(address: string, powers: EmbeddedPowers): Promise<Relations> {
  if (address === "embedded") return openEmbeddedRelations(powers);
  const { openSpicedbRelations } = await import("./spicedb.ts");
  return openSpicedbRelations(address, powers);
}

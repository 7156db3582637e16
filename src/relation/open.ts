// Chooses the relation engine; the client of SpiceDB loads only when it is chosen.
import type { Store } from "../store/store.ts";
import type { Relations } from "./relation.ts";

/** How the instances of one installation learn of each other's changes. */
export interface Follower {
  /** Resolves once no instance goes on with what it knew before. */
  changed(name: string): Promise<void>;
  /** Called when another instance changed something; answers the function that ends it. */
  on(name: string, listener: () => void | Promise<void>): () => void;
}

export interface RelationPowers {
  readonly store: Pick<Store, "tuples" | "documents">;
  readonly now: () => number;
  /** Absent when there is one instance only. */
  readonly follower?: Follower;
}

export async function openRelations(address: string, powers: RelationPowers): Promise<Relations> {
  if (address !== "embedded") {
    const { openSpicedbRelations } = await import("./spicedb.ts");
    return openSpicedbRelations(address, powers);
  }
  const { openEmbeddedRelations } = await import("./embedded/index.ts");
  return openEmbeddedRelations(powers);
}

// All relationships in memory, indexed so that a check is a few look-ups: object -> relation -> subject.
import type { JsonObject } from "../../../contract/call.ts";
import type { TupleKey, TupleRow } from "../../../storage/store/store.ts";

export interface Tuple extends TupleRow {
  /** Its unique name; also its position in the order of pages. */
  readonly key: string;
  readonly context: JsonObject | null;
}

/** The subjects of one relation of one object. */
export interface Standing {
  /** Objects and wildcards (`*`), by type and id. */
  readonly direct: Map<string, Map<string, Tuple>>;
  /** Sets such as `group:eng#member`, by that text. */
  readonly sets: Map<string, Tuple>;
}

export const setKey = (type: string, id: string, relation: string): string =>
  `${type}:${id}#${relation}`;

export function tupleKey(row: TupleKey): string {
  return `${setKey(row.resourceType, row.resourceId, row.relation)}@${setKey(row.subjectType, row.subjectId, row.subjectRelation)}`;
}

export const expired = (tuple: TupleRow, now: number): boolean =>
  tuple.expiresAt !== null && tuple.expiresAt <= now;

export class Tuples {
  readonly #things = new Map<string, Map<string, Map<string, Standing>>>();
  readonly #byKey = new Map<string, Tuple>();
  readonly #ending = new Set<Tuple>();

  /** Undefined: no subject. */
  at(type: string, id: string, relation: string): Standing | undefined {
    return this.#things.get(type)?.get(id)?.get(relation);
  }

  /** Objects of a type that have at least one relationship. */
  ids(type: string): Iterable<string> {
    return this.#things.get(type)?.keys() ?? [];
  }

  /** Narrowed to a type or an object where that is known. */
  *matching(type?: string, id?: string): Generator<Tuple> {
    if (type === undefined) return yield* this.#byKey.values();
    const things = this.#things.get(type);
    const chosen =
      id === undefined
        ? (things?.values() ?? [])
        : [things?.get(id) ?? new Map<string, Standing>()];
    for (const relations of chosen)
      for (const standing of relations.values()) yield* everyone(standing);
  }

  put(row: TupleRow): void {
    const key = tupleKey(row);
    this.#remove(key);
    const context = row.caveatContext === "" ? null : (JSON.parse(row.caveatContext) as JsonObject);
    const tuple: Tuple = { ...row, key, context };
    const things = getOr(
      this.#things,
      row.resourceType,
      () => new Map<string, Map<string, Standing>>(),
    );
    const relations = getOr(things, row.resourceId, () => new Map<string, Standing>());
    const standing = getOr(relations, row.relation, newStanding);
    if (row.subjectRelation === "")
      getOr(standing.direct, row.subjectType, () => new Map<string, Tuple>()).set(
        row.subjectId,
        tuple,
      );
    else standing.sets.set(setKey(row.subjectType, row.subjectId, row.subjectRelation), tuple);
    this.#byKey.set(key, tuple);
    if (tuple.expiresAt !== null) this.#ending.add(tuple);
  }

  delete(row: TupleKey): void {
    this.#remove(tupleKey(row));
  }

  /** The store removes expired rows itself; this does the same for memory. */
  sweep(now: number): void {
    for (const tuple of this.#ending) if (expired(tuple, now)) this.#remove(tuple.key);
  }

  #remove(key: string): void {
    const tuple = this.#byKey.get(key);
    if (tuple === undefined) return;
    this.#byKey.delete(key);
    this.#ending.delete(tuple);
    const things = this.#things.get(tuple.resourceType);
    const relations = things?.get(tuple.resourceId);
    const standing = relations?.get(tuple.relation);
    if (things === undefined || relations === undefined || standing === undefined) return;
    const direct = standing.direct.get(tuple.subjectType);
    if (tuple.subjectRelation !== "")
      standing.sets.delete(setKey(tuple.subjectType, tuple.subjectId, tuple.subjectRelation));
    else if (direct?.delete(tuple.subjectId) && direct.size === 0)
      standing.direct.delete(tuple.subjectType);
    if (standing.direct.size + standing.sets.size === 0) relations.delete(tuple.relation);
    if (relations.size === 0) things.delete(tuple.resourceId);
    if (things.size === 0) this.#things.delete(tuple.resourceType);
  }
}

export function* everyone(standing: Standing): Generator<Tuple> {
  for (const subjects of standing.direct.values()) yield* subjects.values();
  yield* standing.sets.values();
}

const newStanding = (): Standing => ({ direct: new Map(), sets: new Map() });

function getOr<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

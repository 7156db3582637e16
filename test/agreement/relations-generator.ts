// Random schemas, relationships and questions, from a seed: the same seed gives the same world.
import type { JsonObject } from "../../src/contract/call.ts";
import type { CheckRequest, Relationship } from "../../src/governance/relations/relation.ts";
import { Random } from "../fixtures/random.ts";

export interface World {
  readonly schema: string;
  readonly relationships: readonly Relationship[];
  readonly checks: readonly CheckRequest[];
}

const TYPES = ["document", "folder", "team", "user"];
/** Each type has names of its own: the server (1.56) takes a wildcard in one for a wildcard in all of that name. */
const RELATIONS: Readonly<Record<string, readonly string[]>> = {
  document: ["owner", "reader", "parent"],
  folder: ["keeper", "viewer", "inside"],
  team: ["lead", "member", "partner"],
};
const ALL_RELATIONS = Object.values(RELATIONS).flat();
const PERMISSIONS = ["see", "edit", "own"];
const IDS = ["i1", "i2", "i3"];
const USERS = ["u1", "u2", "u3", "u4"];

const CAVEATS = `caveat big(num int, least int) {
  num >= least
}

caveat named(name string, flag bool) {
  name == "x" || flag
}

caveat listed(tags list<string>, tag string) {
  tag in tags && tags.all(t, t != "no")
}
`;
const CONTEXTS: Readonly<Record<string, readonly JsonObject[]>> = {
  big: [{}, { least: 5 }, { num: 3 }, { num: 7, least: 5 }, { num: 1, least: 5 }],
  named: [{}, { name: "x" }, { name: "y" }, { flag: true }, { name: "y", flag: false }],
  listed: [{}, { tag: "a" }, { tags: ["a", "b"] }, { tags: [] }, { tags: ["no"], tag: "no" }],
};
const QUESTIONS: readonly JsonObject[] = [
  {},
  { num: 7 },
  { num: 1, least: 3 },
  { name: "x" },
  { flag: false, name: "z" },
  { tags: ["a"], tag: "a" },
  { num: 9, least: 1, name: "q", flag: true, tags: ["b"], tag: "a" },
];

interface Allowed {
  readonly type: string;
  readonly relation: string;
  readonly wildcard: boolean;
  readonly caveat: string;
  readonly expiration: boolean;
}

export function generateWorld(seed: number): World {
  const random = new Random(seed);
  const pick = <A>(from: readonly A[]): A => random.pick(from);
  const chance = (p: number): boolean => random.chance(p);
  const relations = new Map<string, Allowed[]>();
  const members = (type: string): string[] =>
    type === "user" ? [] : [...(RELATIONS[type] ?? []), ...PERMISSIONS];

  const allowed = (): Allowed => {
    const type = chance(0.5) ? "user" : pick(TYPES.slice(0, 3));
    const set = type !== "user" && chance(0.6);
    const wildcard = !set && chance(0.12);
    return {
      type,
      relation: set ? pick(members(type)) : "",
      wildcard,
      caveat: chance(0.25) ? pick(Object.keys(CONTEXTS)) : "",
      expiration: chance(0.15),
    };
  };
  const allowedText = (one: Allowed): string => {
    const traits = [one.caveat, one.expiration ? "expiration" : ""].filter(Boolean).join(" and ");
    return `${one.type}${one.wildcard ? ":*" : one.relation ? `#${one.relation}` : ""}${traits ? ` with ${traits}` : ""}`;
  };
  /** Names only what stands above, so that no permission contains itself. */
  const expression = (type: string, known: readonly string[], depth: number): string => {
    if (depth > 0 && chance(0.6)) {
      const [left, right] = [
        expression(type, known, depth - 1),
        expression(type, known, depth - 1),
      ];
      return `(${left} ${pick(["+", "+", "&", "-"])} ${right})`;
    }
    if (chance(0.35)) {
      const target = pick([...ALL_RELATIONS, ...PERMISSIONS]);
      return chance(0.3)
        ? `${pick(RELATIONS[type] ?? [])}.${pick(["any", "all"])}(${target})`
        : `${pick(RELATIONS[type] ?? [])}->${target}`;
    }
    if (chance(0.05)) return "nil";
    if (chance(0.05)) return "self";
    return pick(known);
  };

  let schema = `use expiration\nuse self\n\n${CAVEATS}\ndefinition user {}\n`;
  for (const type of TYPES.slice(0, 3)) {
    schema += `\ndefinition ${type} {\n`;
    for (const relation of RELATIONS[type] ?? []) {
      const all = [
        ...new Map(random.times(1, 3, allowed).map((one) => [allowedText(one), one])).values(),
      ];
      relations.set(`${type}#${relation}`, all);
      schema += `  relation ${relation}: ${all.map(allowedText).join(" | ")}\n`;
    }
    const known = [...(RELATIONS[type] ?? [])];
    for (const permission of PERMISSIONS) {
      schema += `  permission ${permission} = ${expression(type, known, 2)}\n`;
      known.push(permission);
    }
    schema += "}\n";
  }

  /** Relationships lead from a thing to one further on in this order: no cycles. */
  const rank = (type: string, id: string): number => TYPES.indexOf(type) * 10 + IDS.indexOf(id);
  const relationships = new Map<string, Relationship>();
  for (let i = 0; i < 45; i += 1) {
    const type = pick(TYPES.slice(0, 3));
    const relation = pick(RELATIONS[type] ?? []);
    const id = pick(IDS);
    const one = pick(relations.get(`${type}#${relation}`) ?? []);
    const subjectId = one.wildcard ? "*" : pick(one.type === "user" ? USERS : IDS);
    if (one.type !== "user" && !one.wildcard && rank(one.type, subjectId) <= rank(type, id))
      continue;
    const subject = {
      type: one.type,
      id: subjectId,
      ...(one.relation && { relation: one.relation }),
    };
    const context = pick(CONTEXTS[one.caveat] ?? [{}]);
    relationships.set(`${type}:${id}#${relation}@${one.type}:${subjectId}#${one.relation}`, {
      resource: { type, id },
      relation,
      subject,
      ...(one.caveat && {
        caveat: { name: one.caveat, ...(Object.keys(context).length > 0 && { context }) },
      }),
      ...(one.expiration && { expiresAt: chance(0.3) ? 1_000_000_000_000 : 9_000_000_000_000 }),
    });
  }

  const checks = Array.from({ length: 60 }, (): CheckRequest => {
    const type = pick(TYPES.slice(0, 3));
    const other = pick(TYPES.slice(0, 3));
    const subject = chance(0.75)
      ? { type: "user", id: pick([...USERS, "stranger"]) }
      : { type: other, id: pick(IDS), ...(chance(0.7) && { relation: pick(members(other)) }) };
    const context = pick(QUESTIONS);
    return {
      resource: { type, id: pick(IDS) },
      permission: pick(members(type)),
      subject,
      ...(Object.keys(context).length > 0 && { context }),
    };
  });
  return { schema, relationships: [...relationships.values()], checks };
}

// Keywords that put schemas together, and those that judge what no other keyword looked at.
import type { Json, JsonObject } from "../../contract/call.ts";
import {
  inPlace,
  isList,
  isObject,
  keysOf,
  misfit,
  pointer,
  quietly,
  UnusableSchema,
  type Check,
  type Misfit,
  type Place,
  type CheckRun,
} from "./node.ts";

export function logicChecks(place: Place): Check[] {
  const { schema, at, sub } = place;
  const checks: Check[] = [];
  const several = (keyword: string): Check[] => {
    const list = schema[keyword];
    if (list === undefined) return [];
    if (!isList(list) || list.length === 0)
      throw new UnusableSchema(`${at}/${keyword}: expected a list of schemas`);
    return list.map((inner, i) => sub(inner, `${at}/${keyword}/${i}`));
  };
  const every = several("allOf");
  for (const check of every)
    checks.push((value, path, run, seen) => inPlace(check, value, path, run, seen));
  const some = several("anyOf");
  if (some.length > 0) checks.push(anyOf(schema, some));
  const one = several("oneOf");
  if (one.length > 0) checks.push(oneOf(schema, one));
  if (schema["not"] !== undefined) {
    const not = sub(schema["not"], `${at}/not`);
    checks.push(
      (value, path, run) =>
        !quietly(run, () => not(value, "", run, null)) ||
        misfit(run, {
          keyword: "not",
          instancePath: path,
          message: "must NOT be valid",
          params: {},
          data: value,
          parentSchema: schema,
        }),
    );
  }
  if (schema["if"] !== undefined) checks.push(condition(place));
  return checks;
}

function anyOf(schema: JsonObject, branches: readonly Check[]): Check {
  return (value, path, run, seen) => {
    let fits = false;
    for (const branch of branches) {
      fits = quietly(run, () => inPlace(branch, value, "", run, seen)) || fits;
      // Where evaluated properties are needed, those of all branches that fit count.
      if (fits && seen === null) return true;
    }
    return (
      fits ||
      explained(run, branches, {
        keyword: "anyOf",
        instancePath: path,
        message: "must match a schema in anyOf",
        params: {},
        data: value,
        parentSchema: schema,
      })
    );
  };
}

function oneOf(schema: JsonObject, branches: readonly Check[]): Check {
  return (value, path, run, seen) => {
    let count = 0;
    for (const branch of branches)
      if (quietly(run, () => inPlace(branch, value, "", run, seen))) count++;
    if (count === 1) return true;
    const overall: Misfit = {
      keyword: "oneOf",
      instancePath: path,
      message: "must match exactly one schema in oneOf",
      params: { matches: count },
      data: value,
      parentSchema: schema,
    };
    return count === 0 ? explained(run, branches, overall) : misfit(run, overall);
  };
}

/** What is wrong with the branch that comes nearest; where none has the right type, all their types. */
function explained(run: CheckRun, branches: readonly Check[], overall: Misfit): false {
  const { misfits } = run;
  if (misfits === null) return false;
  const { data, instancePath } = overall;
  const each = branches.map((branch) => {
    run.misfits = [];
    branch(data, instancePath, run, null);
    return run.misfits;
  });
  run.misfits = misfits;
  const isType = (one: Misfit): boolean =>
    one.keyword === "type" && one.instancePath === instancePath;
  const near = each.filter((found) => !found.some(isType)).sort((a, b) => a.length - b.length)[0];
  if (near) for (const one of near) misfit(run, one);
  else
    misfit(run, {
      ...overall,
      keyword: "type",
      params: {
        type: [
          ...new Set(
            each.flatMap((found) => found.filter(isType).flatMap(({ params }) => params["type"])),
          ),
        ],
      },
    });
  return near ? misfit(run, overall) : false;
}

function condition({ schema, at, sub }: Place): Check {
  const when = sub(schema["if"], `${at}/if`);
  const branch = (keyword: string): Check | null =>
    schema[keyword] === undefined ? null : sub(schema[keyword], `${at}/${keyword}`);
  const [then, otherwise] = [branch("then"), branch("else")];
  return (value, path, run, seen) => {
    const next = quietly(run, () => inPlace(when, value, "", run, seen)) ? then : otherwise;
    return next === null || inPlace(next, value, path, run, seen);
  };
}

/** They come last: all others have reported what they evaluated. */
export function unevaluatedChecks({ schema, at, sub }: Place): Check[] {
  const checks: Check[] = [];
  const { unevaluatedProperties: keys, unevaluatedItems: items } = schema;
  if (keys !== undefined) {
    const check = keys === false ? null : sub(keys, `${at}/unevaluatedProperties`);
    checks.push((value, path, run, seen) => {
      if (!isObject(value) || seen === null) return true;
      const rest = keysOf(value, run).filter((key) => !seen.keys.has(key));
      const fits = (key: string): boolean => {
        seen.keys.add(key);
        if (check) return check(value[key] as Json, `${path}/${pointer(key)}`, run, null);
        return misfit(run, {
          keyword: "additionalProperties",
          instancePath: path,
          message: "must NOT have unevaluated properties",
          params: { additionalProperty: key },
          data: value,
          parentSchema: schema,
        });
      };
      return rest.map(fits).every((fine) => fine);
    });
  }
  if (items !== undefined) {
    const check = sub(items, `${at}/unevaluatedItems`);
    checks.push((value, path, run, seen) => {
      if (!isList(value) || seen === null) return true;
      const fits = (item: Json, i: number): boolean => {
        if (seen.items.has(i)) return true;
        seen.items.add(i);
        return check(item, `${path}/${i}`, run, null);
      };
      return value.map(fits).every((fine) => fine);
    });
  }
  return checks;
}

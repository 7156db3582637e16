// Keywords about objects and lists.
import type { Json, JsonObject } from "../../contract/call.ts";
import { linearPattern, type LinearPattern } from "./linear-pattern.ts";
import {
  inPlace,
  isList,
  isObject,
  keysOf,
  mapIn,
  misfit,
  namesIn,
  numberIn,
  occurs,
  pay,
  pointer,
  quietly,
  textOf,
  type Check,
  type Place,
  type CheckRun,
} from "./node.ts";

export function objectChecks(place: Place): Check[] {
  return [
    ...sizeChecks(place),
    ...requiredChecks(place),
    ...propertyChecks(place),
    ...dependencyChecks(place),
  ];
}

const below = (path: string, key: string | number, run: CheckRun): string =>
  run.misfits === null ? "" : `${path}/${typeof key === "string" ? pointer(key) : key}`;

function sizeChecks(place: Place): Check[] {
  const { schema } = place;
  const bounds = [
    ["minProperties", "must NOT have fewer than", "properties", isObject],
    ["maxProperties", "must NOT have more than", "properties", isObject],
    ["minItems", "must NOT have fewer than", "items", isList],
    ["maxItems", "must NOT have more than", "items", isList],
  ] as const;
  return bounds.flatMap(([keyword, words, what, isKind]) => {
    const limit = numberIn(place, keyword);
    if (limit === null) return [];
    const message = `${words} ${limit} ${what}`;
    const check: Check = (value, path, run) => {
      if (!isKind(value)) return true;
      const count = isList(value) ? value.length : keysOf(value, run).length;
      return (
        (keyword.startsWith("min") ? count >= limit : count <= limit) ||
        misfit(run, {
          keyword,
          instancePath: path,
          message,
          params: { limit },
          data: value,
          parentSchema: schema,
        })
      );
    };
    return [check];
  });
}

function missing(
  names: readonly string[],
  schema: JsonObject,
  value: JsonObject,
  path: string,
  run: CheckRun,
): boolean {
  let fine = true;
  pay(run, names.length);
  for (const name of names) {
    if (Object.hasOwn(value, name)) continue;
    fine = misfit(run, {
      keyword: "required",
      instancePath: path,
      message: `must have required property '${name}'`,
      params: { missingProperty: name },
      data: value,
      parentSchema: schema,
    });
    if (run.misfits === null) return false;
  }
  return fine;
}

function requiredChecks({ schema, at }: Place): Check[] {
  if (schema["required"] === undefined) return [];
  const names = namesIn(schema["required"], `${at}/required`);
  return [(value, path, run) => !isObject(value) || missing(names, schema, value, path, run)];
}

function propertyChecks(place: Place): Check[] {
  const { schema, at, sub } = place;
  const checks: Check[] = [];
  const named = mapIn(place, "properties").map(
    ([key, inner]) => [key, sub(inner, `${at}/properties/${pointer(key)}`)] as const,
  );
  const patterns = mapIn(place, "patternProperties").map(
    ([text, inner]) =>
      [linearPattern(text), sub(inner, `${at}/patternProperties/${pointer(text)}`)] as const,
  );
  if (named.length > 0)
    checks.push((value, path, run, seen) => {
      if (!isObject(value)) return true;
      let fine = true;
      pay(run, named.length);
      for (const [key, check] of named) {
        if (!Object.hasOwn(value, key)) continue;
        seen?.keys.add(key);
        if (check(value[key] as Json, below(path, key, run), run, null)) continue;
        fine = false;
        if (run.misfits === null) return false;
      }
      return fine;
    });
  if (patterns.length > 0) checks.push(patternCheck(patterns));
  const rest = schema["additionalProperties"];
  if (rest !== undefined && rest !== true)
    checks.push(
      additionalCheck(
        place,
        new Set(named.map(([key]) => key)),
        patterns.map(([pattern]) => pattern),
      ),
    );
  else if (rest === true)
    checks.push((value, _path, run, seen) => {
      if (seen !== null && isObject(value))
        for (const key of keysOf(value, run)) seen.keys.add(key);
      return true;
    });
  if (schema["propertyNames"] !== undefined) {
    const names = sub(schema["propertyNames"], `${at}/propertyNames`);
    checks.push((value, path, run) => {
      if (!isObject(value)) return true;
      const all = keysOf(value, run).map((key) => names(key, below(path, key, run), run, null));
      return all.every((fine) => fine);
    });
  }
  return checks;
}

function patternCheck(patterns: readonly (readonly [LinearPattern, Check])[]): Check {
  return (value, path, run, seen) => {
    if (!isObject(value)) return true;
    let fine = true;
    for (const key of keysOf(value, run))
      for (const [pattern, check] of patterns) {
        if (!occurs(pattern, key, run)) continue;
        seen?.keys.add(key);
        if (!check(value[key] as Json, below(path, key, run), run, null)) fine = false;
        if (!fine && run.misfits === null) return false;
      }
    return fine;
  };
}

function additionalCheck(
  { schema, at, sub }: Place,
  known: ReadonlySet<string>,
  patterns: readonly LinearPattern[],
): Check {
  const rest = schema["additionalProperties"];
  const check = rest === false ? null : sub(rest, `${at}/additionalProperties`);
  return (value, path, run, seen) => {
    if (!isObject(value)) return true;
    let fine = true;
    for (const key of keysOf(value, run)) {
      if (known.has(key) || patterns.some((pattern) => occurs(pattern, key, run))) continue;
      seen?.keys.add(key);
      if (check === null)
        fine = misfit(run, {
          keyword: "additionalProperties",
          instancePath: path,
          message: "must NOT have additional properties",
          params: { additionalProperty: key },
          data: value,
          parentSchema: schema,
        });
      else if (!check(value[key] as Json, below(path, key, run), run, null)) fine = false;
      if (!fine && run.misfits === null) return false;
    }
    return fine;
  };
}

/** `dependencies` is what the drafts before 2019-09 call both. */
function dependencyChecks(place: Place): Check[] {
  const { schema, at, sub } = place;
  return ["dependentRequired", "dependentSchemas", "dependencies"].flatMap((keyword) =>
    mapIn(place, keyword).map(([key, inner]): Check => {
      const where = `${at}/${keyword}/${pointer(key)}`;
      if (keyword === "dependentRequired" || (keyword === "dependencies" && isList(inner))) {
        const names = namesIn(inner, where);
        return (value, path, run) =>
          !isObject(value) ||
          !Object.hasOwn(value, key) ||
          missing(names, schema, value, path, run);
      }
      const check = sub(inner, where);
      return (value, path, run, seen) =>
        !isObject(value) || !Object.hasOwn(value, key) || inPlace(check, value, path, run, seen);
    }),
  );
}

export function listChecks(place: Place): Check[] {
  const { schema, at, sub } = place;
  const checks: Check[] = [];
  // Before 2020-12 a list of schemas was called `items`, and the rest `additionalItems`.
  const [firstName, restName] = isList(schema["items"])
    ? (["items", "additionalItems"] as const)
    : (["prefixItems", "items"] as const);
  const firsts = isList(schema[firstName])
    ? schema[firstName].map((inner, i) => sub(inner, `${at}/${firstName}/${i}`))
    : [];
  const rest = schema[restName] === undefined ? null : sub(schema[restName], `${at}/${restName}`);
  if (firsts.length > 0 || rest !== null)
    checks.push((value, path, run, seen) => {
      if (!isList(value)) return true;
      let fine = true;
      const end = rest === null ? Math.min(firsts.length, value.length) : value.length;
      for (let i = 0; i < end; i++) {
        seen?.items.add(i);
        if ((firsts[i] ?? rest)?.(value[i] as Json, below(path, i, run), run, null)) continue;
        fine = false;
        if (run.misfits === null) return false;
      }
      return fine;
    });
  if (schema["contains"] !== undefined) checks.push(containsCheck(place));
  if (schema["uniqueItems"] === true)
    checks.push(
      (value, path, run) =>
        !isList(value) ||
        new Set(value.map((item) => textOf(item, run))).size === value.length ||
        misfit(run, {
          keyword: "uniqueItems",
          instancePath: path,
          message: "must NOT have duplicate items",
          params: {},
          data: value,
          parentSchema: schema,
        }),
    );
  return checks;
}

function containsCheck(place: Place): Check {
  const { schema, at, sub } = place;
  const check = sub(schema["contains"], `${at}/contains`);
  const [least, most] = [
    numberIn(place, "minContains") ?? 1,
    numberIn(place, "maxContains") ?? Infinity,
  ];
  const message = `must contain at least ${least}${most === Infinity ? "" : ` and no more than ${most}`} valid item(s)`;
  return (value, path, run, seen) => {
    if (!isList(value)) return true;
    let count = 0;
    value.forEach((item, i) => {
      if (!quietly(run, () => check(item, "", run, null))) return;
      count++;
      seen?.items.add(i);
    });
    return (
      (count >= least && count <= most) ||
      misfit(run, {
        keyword: "contains",
        instancePath: path,
        message,
        params: {},
        data: value,
        parentSchema: schema,
      })
    );
  };
}

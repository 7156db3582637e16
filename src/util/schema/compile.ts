// A schema becomes functions that call each other: no code is generated, and how far they go is bounded.
import type { Json, JsonObject } from "../../contract/call.ts";
import { logicChecks, unevaluatedChecks } from "./logic.ts";
import {
  freshSeen,
  inPlace,
  isObject,
  misfit,
  UnusableSchema,
  type Check,
  type Misfit,
  type Place,
  type CheckRun,
} from "./node.ts";
import { listChecks, objectChecks } from "./objects.ts";
import { resourcesOf, type Resources } from "./resources.ts";
import { valueChecks } from "./values.ts";

/** Checks of parts of a value, by all branches together; a value of 1 MB with a plain schema needs some 100,000. */
const MAX_STEPS = 500_000;
/** Work within checks (patterns by the character, names by their number): about 0.1 s at worst. */
const MAX_WORK = 1_000_000;
const MAX_DEPTH = 400;

/** Empty when the value fits; else at most ten places where it does not. */
export type SchemaCheck = (value: Json) => readonly Misfit[];

/** Throws UnusableSchema. */
export function compileSchema(schema: Json): SchemaCheck {
  const check = rootCheck(schema);
  return (value) => {
    // Most values fit: whether they do is asked first, why not only then.
    if (check(value, "", newRun(null), null)) return [];
    const misfits: Misfit[] = [];
    check(value, "", newRun(misfits), null);
    return misfits;
  };
}

const newRun = (misfits: Misfit[] | null): CheckRun => ({
  misfits,
  steps: MAX_STEPS,
  work: MAX_WORK,
  depth: 0,
  scope: [],
});

function rootCheck(root: Json): Check {
  const resources = resourcesOf(root);
  const known = new Map<Json, { check: Check | null }>();
  const sub = (schema: Json | undefined, at: string): Check => {
    if (schema === true) return () => true;
    if (schema === false)
      return (value, path, run) =>
        misfit(run, {
          keyword: "false schema",
          instancePath: path,
          message: "must not be there",
          params: {},
          data: value,
          parentSchema: {},
        });
    if (!isObject(schema)) throw new UnusableSchema(`${at || "/"}: expected a schema`);
    const cell = known.get(schema) ?? { check: null };
    // Part of a circle: by the time a value comes, it is there.
    if (known.has(schema)) return (...given) => cell.check?.(...given) ?? false;
    known.set(schema, cell);
    return (cell.check = nodeOf({ schema, at, sub }, resources));
  };
  return sub(root, "");
}

function nodeOf(place: Place, resources: Resources): Check {
  const { schema } = place;
  const last = unevaluatedChecks(place);
  const checks = [
    ...referenceChecks(place, resources),
    ...valueChecks(place),
    ...objectChecks(place),
    ...listChecks(place),
    ...logicChecks(place),
    ...last,
  ];
  const resource = resources.isDynamic ? resources.of(schema) : null;
  const needsSeen = last.length > 0;
  return (value, path, run, seen) => {
    if (--run.steps < 0) throw new UnusableSchema("checking the value takes too long");
    if (run.depth >= MAX_DEPTH) throw new UnusableSchema("it refers to itself without end");
    run.depth++;
    if (resource !== null) run.scope.push(resource);
    const own = seen ?? (needsSeen ? freshSeen() : null);
    let fine = true;
    for (const check of checks) {
      if (check(value, path, run, own)) continue;
      fine = false;
      if (run.misfits === null) break;
    }
    if (resource !== null) run.scope.pop();
    run.depth--;
    return fine;
  };
}

function referenceChecks({ schema, at, sub }: Place, resources: Resources): Check[] {
  const checks: Check[] = [];
  for (const keyword of ["$ref", "$recursiveRef"]) {
    const reference = schema[keyword];
    if (reference === undefined) continue;
    const target = targetOf(reference, keyword, schema, at, resources);
    const check = sub(target.schema, `${at}/${keyword}`);
    checks.push((value, path, run, seen) => inPlace(check, value, path, run, seen));
  }
  if (schema["$dynamicRef"] !== undefined)
    checks.push(dynamicCheck({ schema, at, sub }, resources));
  return checks;
}

function targetOf(
  reference: Json,
  keyword: string,
  schema: JsonObject,
  at: string,
  resources: Resources,
): ReturnType<Resources["resolve"]> {
  if (typeof reference !== "string") throw new UnusableSchema(`${at}/${keyword}: expected a text`);
  return resources.resolve(reference, schema);
}

/** Means the outermost part of that name among those entered, where the nearest one is meant to be replaced. */
function dynamicCheck({ schema, at, sub }: Place, resources: Resources): Check {
  const where = `${at}/$dynamicRef`;
  const first = targetOf(schema["$dynamicRef"] ?? null, "$dynamicRef", schema, at, resources);
  const usual = sub(first.schema, where);
  const { anchor } = first;
  const isReplaceable =
    anchor !== null && first.resource.dynamicAnchors.get(anchor) === first.schema;
  return (value, path, run, seen) => {
    const outer = isReplaceable
      ? run.scope.find((one) => one.dynamicAnchors.has(anchor))
      : undefined;
    const check = outer && anchor !== null ? sub(outer.dynamicAnchors.get(anchor), where) : usual;
    return inPlace(check, value, path, run, seen);
  };
}

// What a standing rule covers: values by JSON pointer, equal or fitting a glob.
import type { Json, JsonObject } from "../../contract/call.ts";
import type { FieldFault } from "../../contract/errors.ts";
import { globMatcher } from "../../util/files/glob.ts";
import { canonicalJson } from "../../util/json/json.ts";
import { holdsMask } from "../../util/secrets/mask.ts";
import type { RuleMatch } from "./approval.ts";

const MAX_GLOB = 500;
const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/;

export function compileMatches(matches: readonly RuleMatch[]): (args: JsonObject) => boolean {
  const tests = matches.map(({ pointer, equals, glob }) => {
    const fits = glob === undefined ? equalTo(equals ?? null) : fitting(glob);
    return (args: JsonObject): boolean => {
      const value = valueAt(args, pointer);
      return value !== undefined && fits(value);
    };
  });
  return (args) => tests.every((test) => test(args));
}

function equalTo(wanted: Json): (value: Json) => boolean {
  const text = canonicalJson(wanted);
  return (value) => canonicalJson(value) === text;
}

/** The whole text must fit, and a path that climbs (`a/../b`) fits nothing: it is not what it looks like. */
function fitting(glob: string): (value: Json) => boolean {
  const fits = globMatcher(glob);
  const named = !glob.includes("/");
  return (value) => {
    if (typeof value !== "string" || (named && value.includes("/"))) return false;
    return !/(^|[/\\])\.{1,2}([/\\]|$)/.test(value) && fits(value);
  };
}

/** Undefined when there is nothing at the pointer. */
export function valueAt(args: JsonObject, pointer: string): Json | undefined {
  let value: Json | undefined = args;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonObject)[key];
  }
  return value;
}

/** Everything that is wrong with matches drafted from a call that people saw as `shown`. */
export function matchFaults(
  matches: readonly RuleMatch[],
  shown: JsonObject,
  mayGlob: boolean,
): FieldFault[] {
  const faults: FieldFault[] = [];
  matches.forEach((match, index) => {
    const fault = matchFault(match, shown, mayGlob);
    if (fault !== null) faults.push({ path: `/matches/${index}`, ...fault });
  });
  return faults;
}

type Fault = Omit<FieldFault, "path">;

function matchFault(match: RuleMatch, shown: JsonObject, mayGlob: boolean): Fault | null {
  const { pointer, equals, glob } = match;
  if (!POINTER.test(pointer))
    return { message: `expected a JSON pointer such as /path, got ${JSON.stringify(pointer)}` };
  if ((equals === undefined) === (glob === undefined))
    return { message: "expected either equals or glob" };
  if (glob !== undefined && (glob.length === 0 || glob.length > MAX_GLOB))
    return { message: `expected a glob of 1 to ${MAX_GLOB} characters` };
  if (glob !== undefined && !mayGlob)
    return {
      message: "a tool that can do anything is covered by equal arguments only",
      suggestion: "use equals",
    };
  const value = valueAt(shown, pointer);
  if (value !== undefined && hasMask(value))
    return { message: "is masked, and a rule must not hold a secret", suggestion: "leave it out" };
  if (!compileMatches([match])(shown))
    return {
      message: "does not fit the call it is drafted from",
      suggestion: `the call has ${JSON.stringify(value) ?? "nothing"} there`,
    };
  return null;
}

export function hasMask(value: Json): boolean {
  if (typeof value === "string") return holdsMask(value);
  return (
    typeof value === "object" &&
    value !== null &&
    Object.values(value).some((inner: Json) => hasMask(inner))
  );
}

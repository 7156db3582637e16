import { compareStrings } from "../values/value.ts";
import type { Value } from "../values/value.ts";
import { ANY, BOOLEAN, NUMBER, STRING } from "../types/type.ts";
import type { Builtin } from "./builtin.ts";
import { arg, fail, fn, string } from "./operands.ts";
import type { Args } from "./operands.ts";

interface Version {
  readonly core: readonly [bigint, bigint, bigint];
  readonly preRelease: string;
}

const IDENTIFIERS = /^[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*$/;
/** No sign and no leading zero. */
const NUMERIC = /^(?:0|[1-9]\d*)$/;
const MAX_INT64 = 2n ** 63n - 1n;

function cut(text: string, separator: string): [before: string, after: string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

const validPreRelease = (text: string): boolean =>
  IDENTIFIERS.test(text) && text.split(".").every((id) => !/^\d+$/.test(id) || NUMERIC.test(id));

function parse(text: string): Version | undefined {
  const [withPre, metadata] = cut(text.replace(/^v/, ""), "+");
  if (metadata !== undefined && !IDENTIFIERS.test(metadata)) return undefined;
  const [core, preRelease] = cut(withPre, "-");
  if (preRelease !== undefined && !validPreRelease(preRelease)) return undefined;
  const parts = core.split(".");
  if (parts.length !== 3 || !parts.every((part) => NUMERIC.test(part))) return undefined;
  const [major = 0n, minor = 0n, patch = 0n] = parts.map(BigInt);
  if ([major, minor, patch].some((n) => n > MAX_INT64)) return undefined;
  return { core: [major, minor, patch], preRelease: preRelease ?? "" };
}

const sign = (a: bigint | number, b: bigint | number): number => (a < b ? -1 : a > b ? 1 : 0);

function compareIdentifiers(a: string, b: string): number {
  const [aIsNumber, bIsNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (aIsNumber !== bIsNumber) return aIsNumber ? -1 : 1;
  return aIsNumber ? sign(BigInt(a), BigInt(b)) : sign(compareStrings(a, b), 0);
}

function comparePreRelease(a: string, b: string): number {
  if (a === b) return 0;
  if (a === "" || b === "") return a === "" ? 1 : -1;
  const [left, right] = [a.split("."), b.split(".")];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const order = compareIdentifiers(left[i] ?? "", right[i] ?? "");
    if (order !== 0) return order;
  }
  return sign(left.length, right.length);
}

function compareVersions(a: Version, b: Version): number {
  for (const i of [0, 1, 2] as const) {
    const order = sign(a.core[i], b.core[i]);
    if (order !== 0) return order;
  }
  return comparePreRelease(a.preRelease, b.preRelease);
}

function versionOperand(args: Args, pos: number): Version {
  const text = string(args, pos);
  return (
    parse(text) ?? fail(`operand ${pos}: string ${JSON.stringify(text)} is not a valid SemVer`)
  );
}

export const SEMVER: readonly Builtin[] = [
  fn("semver.compare", [STRING, STRING], NUMBER, (a): Value => {
    string(a, 1);
    string(a, 2);
    return compareVersions(versionOperand(a, 1), versionOperand(a, 2));
  }),
  fn("semver.is_valid", [ANY], BOOLEAN, (a) => {
    const value = arg(a, 1);
    return typeof value === "string" && parse(value) !== undefined;
  }),
];

// Keywords about a value by itself: its type, its choices, numbers and texts.
import type { Json } from "../../contract/call.ts";
import { canonicalJson } from "../json/json.ts";
import { linearPattern } from "./linear-pattern.ts";
import {
  isList,
  misfit,
  numberIn,
  occurs,
  pay,
  textOf,
  UnusableSchema,
  type Check,
  type Place,
  type CheckRun,
} from "./node.ts";

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];

export function valueChecks(place: Place): Check[] {
  return [
    ...typeCheck(place),
    ...choiceChecks(place),
    ...numberChecks(place),
    ...textChecks(place),
  ];
}

function isOf(type: string, value: Json): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function typeCheck({ schema, at }: Place): Check[] {
  const { type } = schema;
  if (type === undefined) return [];
  const types = (isList(type) ? type : [type]) as readonly string[];
  const wrong = types.find((one) => !TYPES.includes(one));
  if (wrong !== undefined)
    throw new UnusableSchema(
      `${at}/type: expected one of ${TYPES.join(", ")}, got ${JSON.stringify(wrong)}`,
    );
  const [only = ""] = types;
  const params = { type };
  const message = `must be ${types.join(",")}`;
  return [
    (value, path, run) =>
      (types.length === 1 ? isOf(only, value) : types.some((one) => isOf(one, value))) ||
      misfit(run, {
        keyword: "type",
        instancePath: path,
        message,
        params,
        data: value,
        parentSchema: schema,
      }),
  ];
}

function choiceChecks({ schema, at }: Place): Check[] {
  const checks: Check[] = [];
  if (schema["enum"] !== undefined) {
    const choices = schema["enum"];
    if (!isList(choices)) throw new UnusableSchema(`${at}/enum: expected a list`);
    const texts = new Set(choices.map(canonicalJson));
    checks.push(
      (value, path, run) =>
        texts.has(textOf(value, run)) ||
        misfit(run, {
          keyword: "enum",
          instancePath: path,
          message: "must be equal to one of the allowed values",
          params: { allowedValues: choices },
          data: value,
          parentSchema: schema,
        }),
    );
  }
  if (schema["const"] !== undefined) {
    const only = schema["const"];
    const text = canonicalJson(only);
    checks.push(
      (value, path, run) =>
        textOf(value, run) === text ||
        misfit(run, {
          keyword: "const",
          instancePath: path,
          message: `must be equal to ${text.slice(0, 200)}`,
          params: { allowedValue: only },
          data: value,
          parentSchema: schema,
        }),
    );
  }
  return checks;
}

function numberChecks(place: Place): Check[] {
  const { schema } = place;
  const checks: Check[] = [];
  const add = (keyword: string, message: string, fits: (value: number) => boolean): void => {
    checks.push(
      (value, path, run) =>
        typeof value !== "number" ||
        fits(value) ||
        misfit(run, {
          keyword,
          instancePath: path,
          message,
          params: {},
          data: value,
          parentSchema: schema,
        }),
    );
  };
  // In draft 4 `exclusiveMinimum: true` says something of `minimum`.
  const [isAbove, isBelow] = [
    schema["exclusiveMinimum"] === true,
    schema["exclusiveMaximum"] === true,
  ];
  const bound = (keyword: string): number | null =>
    typeof schema[keyword] === "boolean" ? null : numberIn(place, keyword);
  const [minimum, maximum] = [numberIn(place, "minimum"), numberIn(place, "maximum")];
  const above = isAbove ? minimum : bound("exclusiveMinimum");
  const below = isBelow ? maximum : bound("exclusiveMaximum");
  if (minimum !== null && !isAbove)
    add("minimum", `must be >= ${minimum}`, (value) => value >= minimum);
  if (maximum !== null && !isBelow)
    add("maximum", `must be <= ${maximum}`, (value) => value <= maximum);
  if (above !== null) add("exclusiveMinimum", `must be > ${above}`, (value) => value > above);
  if (below !== null) add("exclusiveMaximum", `must be < ${below}`, (value) => value < below);
  const divisor = numberIn(place, "multipleOf");
  if (divisor !== null && divisor <= 0)
    throw new UnusableSchema(`${place.at}/multipleOf: expected more than 0`);
  if (divisor !== null)
    add("multipleOf", `must be multiple of ${divisor}`, (value) => isMultiple(value, divisor));
  return checks;
}

/** Exact in decimals: 0.0075 is a multiple of 0.0001. */
function isMultiple(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0;
  const [digits, exponent] = decimal(value);
  const [otherDigits, otherExponent] = decimal(divisor);
  const shift = exponent - otherExponent;
  const scale = 10n ** BigInt(Math.abs(shift));
  return shift >= 0 ? (digits * scale) % otherDigits === 0n : digits % (otherDigits * scale) === 0n;
}

function decimal(value: number): readonly [bigint, number] {
  const [mantissa = "0", exponent = "0"] = Math.abs(value).toString().split("e");
  const [whole = "0", fraction = ""] = mantissa.split(".");
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}

function textChecks(place: Place): Check[] {
  const { schema, at } = place;
  const checks: Check[] = [];
  const add = (
    keyword: string,
    message: string,
    fits: (value: string, run: CheckRun) => boolean,
  ): void => {
    checks.push(
      (value, path, run) =>
        typeof value !== "string" ||
        fits(value, run) ||
        misfit(run, {
          keyword,
          instancePath: path,
          message,
          params: {},
          data: value,
          parentSchema: schema,
        }),
    );
  };
  const [least, most] = [numberIn(place, "minLength"), numberIn(place, "maxLength")];
  if (least !== null)
    add(
      "minLength",
      `must NOT have fewer than ${least} characters`,
      (value, run) =>
        value.length >= least && (value.length >= 2 * least || lengthOf(value, run) >= least),
    );
  if (most !== null)
    add(
      "maxLength",
      `must NOT have more than ${most} characters`,
      (value, run) =>
        value.length <= most || (value.length <= 2 * most && lengthOf(value, run) <= most),
    );
  const { pattern } = schema;
  if (pattern === undefined) return checks;
  if (typeof pattern !== "string") throw new UnusableSchema(`${at}/pattern: expected a text`);
  const linear = linearPattern(pattern);
  add("pattern", `must match pattern "${pattern}"`, (value, run) => occurs(linear, value, run));
  return checks;
}

/** In code points. */
function lengthOf(text: string, run: CheckRun): number {
  pay(run, text.length / 20);
  let length = 0;
  for (let at = 0; at < text.length; at++, length++) if ((text.codePointAt(at) ?? 0) > 0xffff) at++;
  return length;
}

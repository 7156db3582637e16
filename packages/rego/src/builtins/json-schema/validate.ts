// Checks a value against a compiled schema and words the errors as OPA does.
import { compareNumbers, isInteger, numberText } from "../../values/number.ts";
import { keyText } from "../../values/json.ts";
import { RegoObject, isArray, isNumber } from "../../values/value.ts";
import type { NumberValue, Value } from "../../values/value.ts";
import { formatBigFloat, parseBigFloat, parseDecimal } from "../../go/float.ts";
import { matchesFormat } from "./formats.ts";
import { canonicalText } from "./schema.ts";
import type { Node } from "./schema.ts";

export interface SchemaViolation {
  readonly type: string;
  /** Path with dots, "(Root)" at the top. */
  readonly field: string;
  readonly desc: string;
  readonly error: string;
}

type Tick = (steps?: number) => void;

class Result {
  readonly errors: SchemaViolation[] = [];
  /** How far a value got: the best of several failed alternatives is shown. */
  score = 0;

  add(path: readonly string[], type: string, desc: string): void {
    const context = ["(Root)", ...path].join(".");
    const field = context.replace(/^\(Root\)\./, "");
    const text = desc.replaceAll("{field}", field);
    this.errors.push({ type, field, desc: text, error: `${field}: ${text}` });
    this.score -= 2;
  }

  merge(other: Result): void {
    this.errors.push(...other.errors);
    this.score += other.score;
  }
}

const shownNumber = (n: NumberValue): string => {
  const f = parseBigFloat(numberText(n));
  return f === undefined ? numberText(n) : formatBigFloat(f);
};

function kindOf(value: Value): string {
  if (value === null) return "null";
  if (isNumber(value)) return isInteger(value) ? "integer" : "number";
  if (isArray(value)) return "array";
  return value instanceof RegoObject ? "object" : typeof value;
}

export class Validator {
  private readonly tick: Tick;

  constructor(tick: Tick) {
    this.tick = tick;
  }

  check(node: Node, value: Value, path: readonly string[] = []): Result {
    const result = new Result();
    this.visit(node, value, path, result);
    return result;
  }

  private visit(node: Node, value: Value, path: readonly string[], result: Result): void {
    this.tick();
    if (node.pass !== undefined) {
      if (!node.pass) result.add(path, "false", "False always fails validation");
      return;
    }
    if (node.ref !== undefined) {
      this.visit(node.ref, value, path, result);
      return;
    }
    const kind = kindOf(value);
    const typed =
      node.types.includes(kind) || (kind === "integer" && node.types.includes("number"));
    if (node.types.length > 0 && !typed) {
      const expected = node.types.length > 1 ? `[${node.types.join(",")}]` : node.types.join("");
      result.add(path, "invalid_type", `Invalid type. Expected: ${expected}, given: ${kind}`);
      return;
    }
    this.combinations(node, value, path, result);
    if (isNumber(value)) this.number(node, value, path, result);
    if (isArray(value)) this.array(node, value, path, result);
    if (value instanceof RegoObject) this.object(node, value, path, result);
    this.common(node, value, path, result);
    if (typeof value === "string") this.string(node, value, path, result);
    if (value instanceof RegoObject) {
      for (const [name, child] of node.properties) {
        const item = value.get(name);
        if (item !== undefined) this.visit(child, item, [...path, name], result);
      }
    }
    result.score++;
  }

  private best(
    nodes: readonly Node[],
    value: Value,
    path: readonly string[],
  ): { valid: number; best: Result | undefined } {
    let valid = 0;
    let best: Result | undefined;
    for (const node of nodes) {
      const outcome = this.check(node, value, path);
      if (outcome.errors.length === 0) valid++;
      else if (best === undefined || outcome.score > best.score) best = outcome;
    }
    return { valid, best };
  }

  private combinations(node: Node, value: Value, path: readonly string[], result: Result): void {
    if (node.anyOf.length > 0) {
      const { valid, best } = this.best(node.anyOf, value, path);
      if (valid === 0) {
        result.add(path, "number_any_of", "Must validate at least one schema (anyOf)");
        if (best !== undefined) result.merge(best);
      }
    }
    if (node.oneOf.length > 0) {
      const { valid, best } = this.best(node.oneOf, value, path);
      if (valid !== 1) {
        result.add(path, "number_one_of", "Must validate one and only one schema (oneOf)");
        if (valid === 0 && best !== undefined) result.merge(best);
      }
    }
    if (node.allOf.length > 0) {
      const outcomes = node.allOf.map((sub) => this.check(sub, value, path));
      for (const outcome of outcomes) result.merge(outcome);
      if (outcomes.some((outcome) => outcome.errors.length > 0)) {
        result.add(path, "number_all_of", "Must validate all the schemas (allOf)");
      }
    }
    if (node.not !== undefined && this.check(node.not, value, path).errors.length === 0) {
      result.add(path, "number_not", "Must not validate the schema (not)");
    }
    this.dependencies(node, value, path, result);
    this.condition(node, value, path, result);
    result.score++;
  }

  private dependencies(node: Node, value: Value, path: readonly string[], result: Result): void {
    if (!(value instanceof RegoObject)) return;
    for (const [key, dependency] of node.dependencies) {
      if (!value.has(key)) continue;
      if ("types" in dependency) {
        this.visit(dependency, value, path, result);
        continue;
      }
      for (const name of dependency) {
        if (!value.has(name)) result.add(path, "missing_dependency", `Has a dependency on ${name}`);
      }
    }
  }

  private condition(node: Node, value: Value, path: readonly string[], result: Result): void {
    if (node.when === undefined) return;
    const holds = this.check(node.when, value, path).errors.length === 0;
    const branch = holds ? node.then : node.otherwise;
    if (branch === undefined) return;
    const outcome = this.check(branch, value, path);
    if (outcome.errors.length === 0) return;
    if (holds) result.add(path, "condition_then", 'Must validate "then" as "if" was valid');
    else result.add(path, "condition_else", 'Must validate "else" as "if" was not valid');
    result.merge(outcome);
  }

  private common(node: Node, value: Value, path: readonly string[], result: Result): void {
    if (node.constant !== undefined && canonicalText(value) !== node.constant) {
      result.add(path, "const", `{field} does not match: ${node.constant}`);
    }
    if (node.enumeration !== undefined && !node.enumeration.includes(canonicalText(value))) {
      result.add(
        path,
        "enum",
        `{field} must be one of the following: ${node.enumeration.join(", ")}`,
      );
    }
    if (
      node.format !== undefined &&
      typeof value === "string" &&
      !matchesFormat(node.format, value)
    ) {
      result.add(path, "format", `Does not match format '${node.format}'`);
    }
    result.score++;
  }

  private array(
    node: Node,
    value: readonly Value[],
    path: readonly string[],
    result: Result,
  ): void {
    this.items(node, value, path, result);
    if (node.minItems !== undefined && value.length < node.minItems) {
      result.add(path, "array_min_items", `Array must have at least ${node.minItems} items`);
    }
    if (node.maxItems !== undefined && value.length > node.maxItems) {
      result.add(path, "array_max_items", `Array must have at most ${node.maxItems} items`);
    }
    if (node.uniqueItems) {
      const seen = new Map<string, number>();
      for (const [j, item] of value.entries()) {
        const text = canonicalText(item);
        const i = seen.get(text);
        if (i !== undefined) result.add(path, "unique", `array items[${i},${j}] must be unique`);
        seen.set(text, j);
      }
    }
    if (node.contains !== undefined) this.contains(node.contains, value, path, result);
    result.score++;
  }

  private items(
    node: Node,
    value: readonly Value[],
    path: readonly string[],
    result: Result,
  ): void {
    const { items, additionalItems } = node;
    if (items === undefined) return;
    const at = (sub: Node, i: number): void => {
      result.merge(this.check(sub, value[i] as Value, [...path, i.toString()]));
    };
    if ("types" in items) {
      for (let i = 0; i < value.length; i++) at(items, i);
      return;
    }
    if (items.length === 0) return;
    for (let i = 0; i < Math.min(items.length, value.length); i++) at(items[i] as Node, i);
    if (items.length >= value.length || additionalItems === undefined || additionalItems === true)
      return;
    if (additionalItems === false) {
      result.add(path, "array_no_additional_items", "No additional items allowed on array");
      return;
    }
    for (let i = items.length; i < value.length; i++) at(additionalItems, i);
  }

  private contains(
    node: Node,
    value: readonly Value[],
    path: readonly string[],
    result: Result,
  ): void {
    let best: Result | undefined;
    for (const [i, item] of value.entries()) {
      const outcome = this.check(node, item, [...path, i.toString()]);
      if (outcome.errors.length === 0) return;
      if (best === undefined || outcome.score > best.score) best = outcome;
    }
    result.add(path, "contains", "At least one of the items must match");
    if (best !== undefined) result.merge(best);
  }

  private object(node: Node, value: RegoObject, path: readonly string[], result: Result): void {
    if (node.minProperties !== undefined && value.size < node.minProperties) {
      result.add(
        path,
        "array_min_properties",
        `Must have at least ${node.minProperties} properties`,
      );
    }
    if (node.maxProperties !== undefined && value.size > node.maxProperties) {
      result.add(
        path,
        "array_max_properties",
        `Must have at most ${node.maxProperties} properties`,
      );
    }
    for (const name of node.required) {
      if (value.has(name)) result.score++;
      else result.add(path, "required", `${name} is required`);
    }
    for (const [key, item] of value.entries())
      this.property(node, keyText(key), item, path, result);
    if (node.propertyNames !== undefined) {
      for (const key of value.keys()) {
        const outcome = this.check(node.propertyNames, key, path);
        if (outcome.errors.length === 0) continue;
        result.add(
          path,
          "invalid_property_name",
          `Property name of "${keyText(key)}" does not match`,
        );
        result.merge(outcome);
      }
    }
    result.score++;
  }

  private property(
    node: Node,
    key: string,
    item: Value,
    path: readonly string[],
    result: Result,
  ): void {
    const inner = [...path, key];
    const matching = node.patternProperties.filter(([pattern]) => pattern.test(key));
    for (const [, sub] of matching) result.merge(this.check(sub, item, inner));
    if (matching.length > 0) result.score++;
    if (matching.length > 0 || node.properties.some(([name]) => name === key)) return;
    const { additionalProperties } = node;
    if (additionalProperties === false) {
      result.add(
        path,
        "additional_property_not_allowed",
        `Additional property ${key} is not allowed`,
      );
    } else if (typeof additionalProperties === "object") {
      result.merge(this.check(additionalProperties, item, inner));
    }
  }

  private string(node: Node, value: string, path: readonly string[], result: Result): void {
    const length = Array.from(value).length;
    if (node.minLength !== undefined && length < node.minLength) {
      result.add(
        path,
        "string_gte",
        `String length must be greater than or equal to ${node.minLength}`,
      );
    }
    if (node.maxLength !== undefined && length > node.maxLength) {
      result.add(
        path,
        "string_lte",
        `String length must be less than or equal to ${node.maxLength}`,
      );
    }
    if (node.pattern !== undefined && !node.pattern.test(value)) {
      result.add(path, "pattern", `Does not match pattern '${node.patternText ?? ""}'`);
    }
    result.score++;
  }

  private number(node: Node, value: NumberValue, path: readonly string[], result: Result): void {
    if (node.multipleOf !== undefined && !isMultiple(value, node.multipleOf)) {
      result.add(path, "multiple_of", `Must be a multiple of ${shownNumber(node.multipleOf)}`);
    }
    const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = node;
    if (maximum !== undefined && compareNumbers(value, maximum) > 0) {
      result.add(path, "number_lte", `Must be less than or equal to ${shownNumber(maximum)}`);
    }
    if (exclusiveMaximum !== undefined && compareNumbers(value, exclusiveMaximum) >= 0) {
      result.add(path, "number_lt", `Must be less than ${shownNumber(exclusiveMaximum)}`);
    }
    if (minimum !== undefined && compareNumbers(value, minimum) < 0) {
      result.add(path, "number_gte", `Must be greater than or equal to ${shownNumber(minimum)}`);
    }
    if (exclusiveMinimum !== undefined && compareNumbers(value, exclusiveMinimum) <= 0) {
      result.add(path, "number_gt", `Must be greater than ${shownNumber(exclusiveMinimum)}`);
    }
    result.score++;
  }
}

/** Beyond this the division would take too much memory to be worth an answer. */
const MAX_SHIFT = 10_000;

function isMultiple(value: NumberValue, of: NumberValue): boolean {
  const [a, b] = [parseDecimal(numberText(value)), parseDecimal(numberText(of))];
  if (a === undefined || b === undefined || b.digits === 0n) return false;
  const shift = a.exp10 - b.exp10;
  if (Math.abs(shift) > MAX_SHIFT) return false;
  const scale = 10n ** BigInt(Math.abs(shift));
  return shift >= 0 ? (a.digits * scale) % b.digits === 0n : a.digits % (b.digits * scale) === 0n;
}

import { RE2JS, RE2JSException } from "re2js";
import type { Value } from "../../values/value.ts";
import { BOOLEAN, NUMBER, STRING, arrayOf } from "../../types/type.ts";
import { quoteGo } from "../../go/quote.ts";
import { encodeUtf8 } from "../../go/utf8.ts";
import type { Builtin, BuiltinContext } from "../builtin.ts";
import { globsIntersect } from "./globs-intersect.ts";
import { arg, fail, fn, int, string } from "../operands.ts";
import type { Args } from "../operands.ts";

/** Matching takes program times text steps; more than this would hold the event loop for seconds. */
const MAX_WORK = 300_000_000;
const MAX_PATTERN = 100_000;

function compileText(pattern: string): RE2JS {
  if (pattern.length > MAX_PATTERN) fail("regular expression is too long");
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    // Go quotes the offending part even where it is empty.
    if (error instanceof RE2JSException)
      return fail(error.message.replace(/ at end of expression$/, "$&: ``"));
    throw error;
  }
}

function compile(pattern: string, ctx: BuiltinContext): RE2JS {
  return ctx.memo.get("regex", pattern, () => compileText(pattern));
}

function account(re: RE2JS, text: string, ctx: BuiltinContext): void {
  const work = re.programSize() * (text.length + 1);
  if (work > MAX_WORK) fail("regular expression and text are too large together");
  ctx.tick(1 + Math.floor(work / 1024));
}

interface Match {
  readonly start: number;
  readonly end: number;
  /** Group texts; one that took no part is empty. */
  readonly groups: readonly string[];
}

/** All matches as Go finds them: no empty match right after another match. */
function* matches(re: RE2JS, text: string, limit: number, ctx: BuiltinContext): Generator<Match> {
  account(re, text, ctx);
  const matcher = re.matcher(text);
  const groupCount = matcher.groupCount();
  let pos = 0;
  let previousEnd = -1;
  let left = limit < 0 ? Infinity : limit;
  while (left > 0 && pos <= text.length && matcher.find(pos)) {
    ctx.tick();
    const start = matcher.start();
    const end = matcher.end();
    const accepted = end !== pos || start !== previousEnd;
    pos = end === pos ? pos + ((text.codePointAt(pos) ?? 0) > 0xffff ? 2 : 1) : end;
    previousEnd = end;
    if (!accepted) continue;
    left--;
    const groups: string[] = [];
    for (let i = 0; i <= groupCount; i++) groups.push(matcher.group(i) ?? "");
    yield { start, end, groups };
  }
}

function isMatch(args: Args, ctx: BuiltinContext): Value {
  const pattern = string(args, 1);
  const text = string(args, 2);
  const re = compile(pattern, ctx);
  account(re, text, ctx);
  return re.test(text);
}

function splitText(args: Args, ctx: BuiltinContext): Value {
  const pattern = string(args, 1);
  const text = string(args, 2);
  const re = compile(pattern, ctx);
  if (pattern !== "" && text === "") return [""];
  const parts: string[] = [];
  let begin = 0;
  let end = 0;
  for (const match of matches(re, text, -1, ctx)) {
    end = match.start;
    if (match.end !== 0) parts.push(text.slice(begin, end));
    begin = match.end;
  }
  if (end !== text.length) parts.push(text.slice(begin));
  return parts;
}

function find(args: Args, ctx: BuiltinContext): Value {
  const pattern = string(args, 1);
  const text = string(args, 2);
  const limit = int(args, 3);
  return Array.from(matches(compile(pattern, ctx), text, limit, ctx), (m) => m.groups[0] ?? "");
}

function findSubmatches(args: Args, ctx: BuiltinContext): Value {
  const pattern = string(args, 1);
  const text = string(args, 2);
  const limit = int(args, 3);
  return Array.from(matches(compile(pattern, ctx), text, limit, ctx), (m) => m.groups);
}

const TEMPLATE_PART = /\$(?:\$|\{([\p{L}\p{Nd}_]+)\}|([\p{L}\p{Nd}_]+))/gu;

/** `$1`, `$name`, `${name}` and `$$`; an unknown name is empty. */
function expand(template: string, match: Match, names: Readonly<Record<string, number>>): string {
  return template.replace(TEMPLATE_PART, (whole, braced?: string, bare?: string) => {
    if (whole === "$$") return "$";
    const name = braced ?? bare ?? "";
    const index = /^\d+$/.test(name) ? Number(name) : names[name];
    return index === undefined ? "" : (match.groups[index] ?? "");
  });
}

function replace(args: Args, ctx: BuiltinContext): Value {
  const text = string(args, 1);
  const pattern = string(args, 2);
  const template = string(args, 3);
  const re = compile(pattern, ctx);
  const names = re.namedGroups();
  let out = "";
  let last = 0;
  for (const match of matches(re, text, -1, ctx)) {
    out += text.slice(last, match.start) + expand(template, match, names);
    last = match.end;
  }
  return out + text.slice(last);
}

/** Places of the outermost delimited parts, as [start, end) pairs. */
function delimited(template: string, open: string, close: string): [number, number][] {
  const parts: [number, number][] = [];
  let level = 0;
  let start = 0;
  for (let i = 0; i < template.length; i++) {
    const char = template.charAt(i);
    if (char === open) {
      if (++level === 1) start = i;
    } else if (char === close) {
      if (--level === 0) parts.push([start, i + 1]);
      else if (level < 0) break;
    }
  }
  return level === 0 ? parts : fail(`unbalanced braces in ${quoteGo(template)}`);
}

function compileTemplate(template: string, open: string, close: string): RE2JS {
  let pattern = "^";
  let end = 0;
  for (const [from, to] of delimited(template, open, close)) {
    const inner = template.slice(from + 1, to - 1);
    compileText(`^${inner}$`);
    pattern += `${RE2JS.quote(template.slice(end, from))}(${inner})`;
    end = to;
  }
  return compileText(`${pattern}${RE2JS.quote(template.slice(end))}$`);
}

function templateMatch(args: Args, ctx: BuiltinContext): Value {
  const template = string(args, 1);
  const text = string(args, 2);
  const [open, close] = [string(args, 3), string(args, 4)];
  const wrong = (which: string, delimiter: string): never =>
    fail(
      `${which} delimiter has to be exactly one character long but is ${encodeUtf8(delimiter).length} long`,
    );
  if (encodeUtf8(open).length !== 1) wrong("start", open);
  if (encodeUtf8(close).length !== 1) wrong("end", close);
  const re = ctx.memo.get("regex template", `${open}${close}${template}`, () =>
    compileTemplate(template, open, close),
  );
  account(re, text, ctx);
  return re.test(text);
}

function isValid(args: Args): Value {
  const pattern = arg(args, 1);
  if (typeof pattern !== "string" || pattern.length > MAX_PATTERN) return false;
  try {
    RE2JS.compile(pattern);
    return true;
  } catch (error) {
    if (error instanceof RE2JSException) return false;
    throw error;
  }
}

export const REGEX: readonly Builtin[] = [
  fn("regex.is_valid", [STRING], BOOLEAN, isValid),
  fn("regex.match", [STRING, STRING], BOOLEAN, isMatch),
  fn("re_match", [STRING, STRING], BOOLEAN, isMatch, { deprecated: true }),
  fn("regex.split", [STRING, STRING], arrayOf(STRING), splitText),
  fn("regex.find_n", [STRING, STRING, NUMBER], arrayOf(STRING), find),
  fn(
    "regex.find_all_string_submatch_n",
    [STRING, STRING, NUMBER],
    arrayOf(arrayOf(STRING)),
    findSubmatches,
  ),
  fn("regex.replace", [STRING, STRING, STRING], STRING, replace),
  fn("regex.template_match", [STRING, STRING, STRING, STRING], BOOLEAN, templateMatch),
  fn("regex.globs_match", [STRING, STRING], BOOLEAN, (a, ctx) =>
    globsIntersect(string(a, 1), string(a, 2), ctx.tick),
  ),
];

// Go's strings.Replacer: one pass, at each place the first pair in argument order that matches.
import { decodeUtf8, encodeUtf8 } from "../go/utf8.ts";
import type { BuiltinContext } from "./builtin.ts";
import { fail } from "./operands.ts";

type Pair = readonly [from: string, to: string];

export function replaceAll(
  text: string,
  pairs: readonly Pair[],
  maxLength: number,
  ctx: BuiltinContext,
): string {
  const splitsBytes = pairs.some(([from]) => from === "") && /[^\0-\x7f]/.test(text);
  if (!splitsBytes) return replaceUnits(text, pairs, maxLength, ctx);
  // Go inserts between bytes, also inside a character: work on one unit per byte.
  const asBytes = pairs.map(([from, to]): Pair => [toBytes(from), toBytes(to)]);
  return fromBytes(replaceUnits(toBytes(text), asBytes, maxLength, ctx));
}

const toBytes = (text: string): string =>
  Array.from(encodeUtf8(text), (b) => String.fromCharCode(b)).join("");
const fromBytes = (units: string): string =>
  decodeUtf8(Uint8Array.from(units, (c) => c.charCodeAt(0)));

function replaceUnits(
  text: string,
  pairs: readonly Pair[],
  maxLength: number,
  ctx: BuiltinContext,
): string {
  const groups = byFirstUnit(pairs);
  const empty = pairs.findIndex(([from]) => from === "");
  const parts: string[] = [];
  let length = 0;
  const push = (part: string): void => {
    parts.push(part);
    length += part.length;
    if (length > maxLength) fail(`result is longer than ${maxLength} characters`);
  };
  let last = 0;
  let afterEmpty = false;
  for (let i = 0; i <= text.length;) {
    if ((i & 0x3ff) === 0) ctx.tick();
    let hit =
      groups.get(text.charAt(i))?.find((at) => text.startsWith(pairs[at]?.[0] ?? "", i)) ?? -1;
    if (empty >= 0 && !afterEmpty && (hit < 0 || empty < hit)) hit = empty;
    const pair = pairs[hit];
    afterEmpty = pair !== undefined && pair[0] === "";
    if (pair === undefined) {
      i++;
      continue;
    }
    push(text.slice(last, i));
    push(pair[1]);
    i += pair[0].length;
    last = i;
  }
  push(text.slice(last));
  return parts.join("");
}

/** Indexes of pairs by first character, so that a text is not tried against each of many pairs. */
function byFirstUnit(pairs: readonly Pair[]): Map<string, number[]> {
  const map = new Map<string, number[]>();
  pairs.forEach(([from], i) => {
    if (from === "") return;
    const group = map.get(from.charAt(0));
    if (group === undefined) map.set(from.charAt(0), [i]);
    else group.push(i);
  });
  return map;
}

// The same masking for large values: long texts go to the thread, and the walk over the rest pauses whenever its turn
// on the main thread is over.
import type { Json, JsonObject } from "../../contract/call.ts";
import { mainThread, type SliceEnd } from "../async/time-slices.ts";
import type { Program } from "./commands.ts";
import { MASK } from "./mask.ts";
import {
  ARGUMENTS,
  byName,
  HOLDS_SECRET,
  isSecretFlag,
  PLAIN,
  programBeside,
  withData,
  withoutData,
} from "./masker-fields.ts";
import {
  isLarge,
  LONG_TEXT,
  longTextsIn,
  type LongTexts,
  type MaskedText,
} from "./masker-large.ts";
import type { Way } from "./masker-texts.ts";
import { finished, maskArguments, MAX_DEPTH, walk, walkField } from "./masker-walk.ts";

/** Every long text of a value, masked: each once, in the thread. */
export async function maskLongTexts(
  value: Json,
  longTexts: LongTexts | undefined,
): Promise<ReadonlyMap<string, MaskedText>> {
  const texts = new Map<string, MaskedText>();
  if (longTexts === undefined) return texts;
  const turn = mainThread.job();
  for (const text of longTextsIn(value)) {
    const over = text === null ? turn() : null;
    if (over) await over;
    if (text !== null && text.length >= LONG_TEXT && !texts.has(text))
      texts.set(text, await longTexts.mask(text));
  }
  return texts;
}

/** The walk over a large value: small parts at once, and a pause whenever a turn is over. */
export async function walkInTurns(
  value: Json,
  way: Way,
  depth: number,
  turn: SliceEnd,
): Promise<Json> {
  const over = turn();
  if (over) await over;
  if (typeof value !== "object" || value === null || !isLarge(value))
    return walk(value, way, depth);
  if (depth > MAX_DEPTH) return MASK;
  if (Array.isArray(value)) return listInTurns(value as readonly Json[], way, depth, turn, null);
  const object = value as JsonObject;
  let copy: Record<string, Json> | null = null;
  let renamed = false;
  for (const name in object) {
    const old = object[name] ?? null;
    const kind = way.texts.kindOf(name);
    const inner = await fieldInTurns(object, name, kind, way, depth, turn);
    if (inner !== old) (copy ??= { ...object })[name] = inner;
    renamed ||= kind === HOLDS_SECRET;
    const late = turn();
    if (late) await late;
  }
  return finished(object, copy, renamed, way);
}

function fieldInTurns(
  object: JsonObject,
  name: string,
  kind: number,
  way: Way,
  depth: number,
  turn: SliceEnd,
): Json | Promise<Json> {
  const old = object[name] ?? null;
  const isNamed = way.names && kind !== PLAIN && kind !== HOLDS_SECRET;
  if (isNamed || !isLarge(old)) return walkField(object, name, kind, way, depth);
  if (!Array.isArray(old)) return walkInTurns(old, way, depth + 1, turn);
  if (name === "$content") return blocksInTurns(old as readonly Json[], way, depth, turn);
  const program = way.names && ARGUMENTS.has(name) ? programBeside(object) : null;
  return listInTurns(old as readonly Json[], way, depth + 1, turn, program);
}

async function listInTurns(
  items: readonly Json[],
  way: Way,
  depth: number,
  turn: SliceEnd,
  program: Program | null,
): Promise<Json> {
  let copy: Json[] | null = null;
  for (let at = 0; at < items.length; at++) {
    const old = items[at] ?? null;
    const flag = way.names && at > 0 && isSecretFlag(items[at - 1]);
    let inner: Json;
    if (flag) inner = byName(old, way);
    else if (isLarge(old)) inner = await walkInTurns(old, way, depth + 1, turn);
    else inner = walk(old, way, depth + 1);
    if (inner !== old) (copy ??= [...items])[at] = inner;
    const over = turn();
    if (over) await over;
  }
  return maskArguments(items, copy, program, way) ?? items;
}

async function blocksInTurns(
  blocks: readonly Json[],
  way: Way,
  depth: number,
  turn: SliceEnd,
): Promise<Json> {
  const copy: Json[] = [];
  for (const block of blocks) {
    const over = turn();
    if (over) await over;
    // One block alone is masked as a list of one.
    const rest = withoutData(block);
    const inner = await walkInTurns(rest, way, depth + 1, turn);
    copy.push(inner === rest ? block : withData(inner, block));
  }
  return copy.some((block, at) => block !== blocks[at]) ? copy : blocks;
}

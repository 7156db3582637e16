// Arguments and results as the record keeps them: masked, without pictures, cut to size. Large values are worked on in
// slices.
import type { Call, Json, JsonObject, Outcome } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { cutToSizeInTurns, surelyFits, type CutValue } from "./cut.ts";
import type { RecorderPowers } from "./index.ts";
import { withoutPictures } from "./pictures.ts";

export interface KeptResult extends CutValue<Json> {
  /** All of it, masked. */
  readonly whole: Json;
}

export interface KeptValues {
  /** At once when the value surely fits, as nearly all do. */
  masked<T extends Json>(value: T, maxBytes: number): CutValue<T> | Promise<CutValue<T>>;
  argumentsOf(call: Call, visible?: boolean): CutValue<JsonObject> | Promise<CutValue<JsonObject>>;
  resultOf(outcome: Outcome): KeptResult | Promise<KeptResult>;
}

const unchanged = <T>(value: T): T => value;

export function keptValues(p: Pick<RecorderPowers, "masker" | "limits" | "turns">): KeptValues {
  const inTurns = { mask: p.masker.valueInSlices, turns: p.turns };
  const masked: KeptValues["masked"] = (value, maxBytes) =>
    surelyFits(value, maxBytes)
      ? { value: p.masker.value(value), cut: null }
      : cutToSizeInTurns(value, maxBytes, inTurns).catch(unwritten);
  const largeResult = async (given: Json, isMasked: boolean): Promise<KeptResult> => {
    const whole = isMasked ? given : await p.masker.valueInSlices(given);
    const kept = await cutToSizeInTurns(whole, p.limits.result, { ...inTurns, mask: unchanged });
    return { ...kept, whole };
  };
  return {
    masked,
    argumentsOf(call, visible = true) {
      // The same for a hidden tool as for one that does not exist: a difference would show which it is.
      const isUnknown = call.tool === null || !visible;
      return masked(call.arguments, isUnknown ? p.limits.unknownTool : p.limits.arguments);
    },
    resultOf({ recorded, output }) {
      const given = withoutPictures(recorded === undefined ? output : recorded);
      // What a runner gave is masked already.
      const isMasked = recorded !== undefined;
      if (!surelyFits(given, p.limits.result)) return largeResult(given, isMasked).catch(unwritten);
      const value = isMasked ? given : p.masker.value(given);
      return { value, cut: null, whole: value };
    },
  };
}

function unwritten(cause: unknown): never {
  throw new AppError(
    "UNAVAILABLE",
    "engine_unavailable",
    "the record cannot be written: masking its text failed",
    {
      remedy: "send less at a time, or try again in a moment",
      retryAfterSeconds: 5,
      cause,
    },
  );
}

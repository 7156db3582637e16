// Which powers exist, and that a tool gets those it declared and no others.
import type { Call } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { PowerName, ToolPowers } from "../../../contract/powers.ts";

/** How each power is made for one call. */
export type PowerSources = {
  readonly [Name in PowerName]: (call: Call, signal: AbortSignal) => ToolPowers[Name];
};

export type PowersFor = (
  needs: readonly PowerName[],
  call: Call,
  signal?: AbortSignal,
) => Partial<ToolPowers>;

const NO_POWERS: Partial<ToolPowers> = Object.freeze({});

/** Builds, per call, exactly the powers that are asked for. One that this installation lacks refuses. */
export function nativePowers(sources: Partial<PowerSources>): PowersFor {
  const build = (name: PowerName, call: Call, signal: AbortSignal): ToolPowers[PowerName] => {
    const source = sources[name];
    if (!source)
      throw new AppError(
        "UNAVAILABLE",
        "provider_not_configured",
        `the power ${name} is not available here`,
      );
    return source(call, signal);
  };
  return (needs, call, signal = call.signal) =>
    needs.length === 0
      ? NO_POWERS
      : Object.fromEntries(needs.map((name) => [name, build(name, call, signal)]));
}

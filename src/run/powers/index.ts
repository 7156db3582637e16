// Which powers exist, and that a tool gets those it declared and no others.
import type { Call } from "../../call.ts";
import type { PowerName, ToolPowers } from "../../tools/tool.ts";
import { clockPower } from "./clock.ts";
import { enginePower, type EngineSettings } from "./engine.ts";
import { filesPower, type FilesSettings } from "./files.ts";
import { hostPower, type HostSettings } from "./host.ts";
import { storePower, type StoreSettings } from "./store.ts";

export interface PowersSettings {
  readonly files: FilesSettings;
  readonly host: HostSettings;
  readonly memory: StoreSettings["memory"];
  readonly engine: () => EngineSettings;
  readonly now: () => number;
}

export type PowersFor = (
  needs: readonly PowerName[],
  call: Call,
  signal?: AbortSignal,
) => Partial<ToolPowers>;

const NO_POWERS: Partial<ToolPowers> = Object.freeze({});

/** Builds, per call, exactly the powers that are asked for. */
export function nativePowers(settings: PowersSettings): PowersFor {
  const files = filesPower(settings.files);
  const store = storePower({ memory: settings.memory, now: settings.now });
  const host = hostPower(settings.host);
  const clock = clockPower(settings.now);
  const engine = enginePower(settings.engine);
  const build: { [Name in PowerName]: (call: Call, signal: AbortSignal) => ToolPowers[Name] } = {
    files,
    store: (call) => store(call),
    host: () => host,
    clock: () => clock,
    engine: (call) => engine(call),
  };
  return (needs, call, signal = call.signal) =>
    needs.length === 0
      ? NO_POWERS
      : Object.fromEntries(needs.map((name) => [name, build[name](call, signal)]));
}

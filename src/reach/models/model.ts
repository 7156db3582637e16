// The port to models: which ones may be asked for something, in which order, and the adapter of each.
import { AppError } from "../../contract/errors.ts";
import type { ModelChoice, ModelPower } from "../../contract/powers/model.ts";
import { chainOf, type Ability, type ModelsConfig, type ModelSettings } from "./config.ts";
import type { ModelExchange } from "./exchange.ts";
import { rateOf } from "./prices.ts";

export type { ModelSettings };

/** What an adapter offers; what it lacks, its models cannot do. */
export type ModelAdapter = {
  readonly [A in Ability]?: (request: Parameters<ModelPower[A]>[0]) => Promise<AdapterAnswer<A>>;
};

/** The provider's answer; the caller knows cost and attempts. */
export type AdapterAnswer<A extends Ability> = Omit<
  Awaited<ReturnType<ModelPower[A]>>,
  "cost" | "attempts"
>;

/** What was learnt about a model from its answers. */
export interface ModelMemory {
  /** It wants `max_completion_tokens` instead of `max_tokens`. */
  completionTokens: boolean;
}

export interface Candidate {
  readonly name: string;
  readonly settings: ModelSettings;
  open(exchange: ModelExchange): Promise<ModelAdapter>;
}

export interface Models {
  /**
   * The models to try, in this order: the model that was named, or the best one, then its fallbacks. `sees`: the
   * conversation has pictures. Throws model_unknown, no_capable_model or provider_not_configured.
   */
  candidates(
    tenantId: string,
    ability: Ability,
    choice: ModelChoice & { readonly sees?: boolean },
  ): Promise<readonly [Candidate, ...Candidate[]]>;
}

/** The models of a tenant as they are now; they may be others the next time. */
export type ModelsSource = (tenantId: string) => ModelsConfig | Promise<ModelsConfig>;

const MAX_REMEMBERED = 1_000;

export function openModels(source: ModelsSource): Models {
  const memories = new Map<string, ModelMemory>();
  const memoryOf = ({ url = "", model }: ModelSettings, name: string): ModelMemory => {
    const key = `${url} ${model ?? name}`;
    const memory = memories.get(key) ?? { completionTokens: false };
    if (memories.size >= MAX_REMEMBERED) memories.clear();
    memories.set(key, memory);
    return memory;
  };
  return {
    async candidates(tenantId, ability, { model: wanted, allowed, sees = false }) {
      const config = await source(tenantId);
      const may = (name: string): boolean => allowed?.includes(name) ?? true;
      const needed: readonly Ability[] = sees ? [ability, "look"] : [ability];
      const can = (name: string): boolean =>
        needed.every((one) => config[name]?.abilities.includes(one) ?? false);
      const known = Object.keys(config).filter(may);
      if (known.length === 0) throw notConfigured();
      if (wanted !== undefined && !known.includes(wanted)) throw unknown(wanted, known);
      const able = (wanted === undefined ? known : [wanted]).filter(can);
      const [first] = ordered(able, ability, config);
      if (first === undefined) throw incapable(needed, wanted);
      const open = (name: string): Candidate => {
        const settings = config[name] as ModelSettings;
        const memory = memoryOf(settings, name);
        return { name, settings, open: (exchange) => load(settings, name, exchange, memory) };
      };
      const [, ...fallbacks] = chainOf(config, first);
      return [open(first), ...fallbacks.filter((name) => may(name) && can(name)).map(open)];
    },
  };
}

/** Cheapest first, then by priority, then in the order of the configuration. */
function ordered(
  names: readonly string[],
  ability: Ability,
  config: ModelsConfig,
): readonly string[] {
  const rank = (name: string): readonly [number, number] => {
    const settings = config[name] as ModelSettings;
    return [rateOf(ability, settings), settings.priority ?? Infinity];
  };
  return names.toSorted((a, b) => {
    const [[rateA, priorityA], [rateB, priorityB]] = [rank(a), rank(b)];
    if (rateA !== rateB) return rateA - rateB;
    return priorityA === priorityB ? 0 : priorityA - priorityB;
  });
}

/** Each provider is loaded with its first use. */
async function load(
  settings: ModelSettings,
  name: string,
  exchange: ModelExchange,
  memory: ModelMemory,
): Promise<ModelAdapter> {
  if (settings.provider === "anthropic")
    return (await import("./anthropic.ts")).anthropic(settings, name, exchange);
  return (await import("./openai.ts")).openAi(settings, name, exchange, memory);
}

function notConfigured(): AppError {
  return new AppError("UNAVAILABLE", "provider_not_configured", "no model is configured", {
    remedy: "add one under models, with its provider, url or apiKey, and what it can do",
  });
}

function unknown(wanted: string, known: readonly string[]): AppError {
  return new AppError(
    "EXECUTION_FAILED",
    "model_unknown",
    `there is no model ${JSON.stringify(wanted)} here`,
    { remedy: `use one of ${known.join(", ")}, or leave the model out` },
  );
}

export function incapable(abilities: readonly Ability[], name: string | undefined): AppError {
  const ability = abilities.join(" and ");
  const who = name === undefined ? "no configured model" : `the model ${name}`;
  const can = name === undefined ? "can" : "cannot";
  return new AppError("EXECUTION_FAILED", "no_capable_model", `${who} ${can} ${ability}`, {
    remedy: `configure a model with the ability ${ability}`,
  });
}

// The port to models: what each configured one can do, and one exchange with its provider through the egress guard.
import { z } from "zod";
import { AppError } from "../../contract/errors.ts";
import type { ModelPower } from "../../contract/powers/model.ts";

/** What a model may be asked for. */
export const ABILITIES = ["generate", "embed", "image", "look", "transcribe", "speak"] as const;
export type Ability = (typeof ABILITIES)[number];

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,127}$/;

const modelConfig = z.strictObject({
  provider: z.enum(["openai", "anthropic"]),
  url: z
    .string()
    .max(2_048)
    .regex(/^https?:\/\/\S+$/, "expected an http:// or https:// address")
    .optional(),
  apiKey: z.string().min(1).max(1_024).optional().meta({ writeOnly: true }),
  /** The provider's own name for it; default: the name here. */
  model: z.string().min(1).max(256).optional(),
  abilities: z.array(z.enum(ABILITIES)).min(1).max(ABILITIES.length).default(["generate"]),
  /** Voice that is used when a call names none. */
  voice: z.string().min(1).max(128).optional(),
});

export const modelsConfig = z
  .record(z.string().regex(NAME, "expected a name such as gpt-small"), modelConfig)
  .describe(
    "Models the ai tools and agents may use, by name, the first that can do it counts: `provider` (openai for any compatible server, anthropic), `url`, `apiKey`, `model` (the provider's name for it), `abilities` (generate, embed, image, look, transcribe, speak), `voice`.",
  );

export type ModelSettings = Readonly<Omit<z.output<typeof modelConfig>, "abilities">> & {
  readonly abilities: readonly Ability[];
};
export type ModelsConfig = Readonly<Record<string, ModelSettings>>;

/** One exchange; the provider's own address is the only one that can be reached. */
export type Exchange = (request: {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}) => Promise<{
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}>;

/** What an adapter offers; what it lacks, its models cannot do. */
export type ModelAdapter = { readonly [A in Ability]?: ModelPower[A] };

export interface OpenedModel {
  readonly name: string;
  readonly provider: ModelSettings["provider"];
  readonly adapter: ModelAdapter;
}

export interface Models {
  readonly names: readonly string[];
  /** Throws model_unknown, no_capable_model or provider_not_configured. */
  choose(ability: Ability, name: string | undefined, exchange: Exchange): Promise<OpenedModel>;
}

export function openModels(config: ModelsConfig): Models {
  const entries = Object.entries(config);
  return {
    names: entries.map(([name]) => name),
    async choose(ability, wanted, exchange) {
      if (entries.length === 0) throw notConfigured();
      const named = wanted === undefined ? null : entries.find(([name]) => name === wanted);
      if (named === undefined)
        throw unknown(
          wanted ?? "",
          entries.map(([name]) => name),
        );
      const able = (named === null ? entries : [named]).find(([, { abilities }]) =>
        abilities.includes(ability),
      );
      if (!able) throw incapable(ability, wanted);
      const [name, settings] = able;
      const adapter = await load(settings, name, exchange);
      if (!adapter[ability]) throw incapable(ability, name);
      return { name, provider: settings.provider, adapter };
    },
  };
}

async function load(
  settings: ModelSettings,
  name: string,
  exchange: Exchange,
): Promise<ModelAdapter> {
  if (settings.provider === "anthropic")
    return (await import("./anthropic.ts")).anthropic(settings, name, exchange);
  return (await import("./openai.ts")).openAi(settings, name, exchange);
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
    {
      remedy: `use one of ${known.join(", ")}, or leave the model out`,
    },
  );
}

function incapable(ability: Ability, name: string | undefined): AppError {
  const who = name === undefined ? "no configured model" : `the model ${name}`;
  const can = name === undefined ? "can" : "cannot";
  return new AppError("EXECUTION_FAILED", "no_capable_model", `${who} ${can} ${ability}`, {
    remedy: `configure a model with the ability ${ability}`,
  });
}

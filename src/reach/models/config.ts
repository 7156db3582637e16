// Settings of models: what each can do, where it is, what it costs, and which one stands in for it.
import { z } from "zod";

/** What a model may be asked for. */
export const ABILITIES = ["generate", "embed", "image", "look", "transcribe", "speak"] as const;
export type Ability = (typeof ABILITIES)[number];

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,127}$/;
const name = z.string().regex(NAME, "expected a name such as gpt-small");
const dollars = z.number().min(0).max(1_000_000).optional();

const prices = z.strictObject({
  inputPerMillion: dollars,
  outputPerMillion: dollars,
  perImage: dollars,
  perMinute: dollars,
});

const limits = z.strictObject({
  /** A conversation that was too long for one model goes only to a fallback where this is larger. */
  contextTokens: z.int().min(1).max(100_000_000).optional(),
  /** The longest answer that is requested. */
  outputTokens: z.int().min(1).max(10_000_000).optional(),
});

const modelConfig = z
  .strictObject({
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
    prices: prices.optional(),
    limits: limits.optional(),
    /** Tried in this order when it fails. */
    fallbacks: z.array(name).max(16).optional(),
    /** Of those that cost the same the lowest is used. */
    priority: z.int().min(0).max(1_000).optional(),
  })
  .superRefine((model, context) => {
    for (const { path, message } of withoutEffect(model))
      context.addIssue({ code: "custom", path: [...path], message });
  });

export const modelsConfig = z
  .record(name, modelConfig)
  .superRefine((models, context) => {
    for (const { path, message } of fallbackFaults(models))
      context.addIssue({ code: "custom", path: [...path], message });
  })
  .describe(
    "Models the ai tools and agents may use, by name: `provider` (openai for any compatible server, anthropic), `url`, `apiKey`, `model` (the provider's name for it), `abilities`, `voice`, `prices`, `limits`, `fallbacks` (asked in this order when it fails), `priority`. docs/models.md says more.",
  );

type Parsed = z.output<typeof modelConfig>;
type Frozen<T> = T extends readonly (infer I)[]
  ? readonly Frozen<I>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T;
export type ModelSettings = Frozen<Parsed>;
export type ModelsConfig = Readonly<Record<string, ModelSettings>>;

interface Problem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Which abilities a setting is about. */
const ABOUT: readonly (readonly [path: readonly string[], abilities: readonly Ability[]])[] = [
  [["voice"], ["speak"]],
  [
    ["prices", "inputPerMillion"],
    ["generate", "look", "embed"],
  ],
  [
    ["prices", "outputPerMillion"],
    ["generate", "look"],
  ],
  [["prices", "perImage"], ["image"]],
  [
    ["prices", "perMinute"],
    ["transcribe", "speak"],
  ],
  [["limits", "contextTokens"], ["generate"]],
  [
    ["limits", "outputTokens"],
    ["generate", "look"],
  ],
];
const OF_ANTHROPIC: readonly Ability[] = ["generate", "look"];

function* withoutEffect(model: ModelSettings): Generator<Problem> {
  for (const [path, abilities] of ABOUT) {
    let value: unknown = model;
    for (const key of path) value = (value as Record<string, unknown> | undefined)?.[key];
    if (value !== undefined && !abilities.some((one) => model.abilities.includes(one)))
      yield { path, message: `has no effect without the ability ${abilities.join(" or ")}` };
  }
  if (model.provider !== "anthropic") return;
  for (const [at, ability] of model.abilities.entries())
    if (!OF_ANTHROPIC.includes(ability))
      yield { path: ["abilities", at], message: `anthropic has no models that ${ability}` };
}

/** Names that do not exist, models that cannot stand in, circles. */
export function* fallbackFaults(models: ModelsConfig): Generator<Problem> {
  for (const [of, { fallbacks = [], abilities }] of Object.entries(models)) {
    for (const [at, to] of fallbacks.entries()) {
      const other = Object.hasOwn(models, to) ? models[to] : undefined;
      const fault = !other
        ? `there is no model ${JSON.stringify(to)}`
        : fallbacks.indexOf(to) < at
          ? `${to} is named twice`
          : !other.abilities.some((one) => abilities.includes(one))
            ? `${to} can do nothing that ${of} can`
            : comesBack(models, to, of)
              ? `${to} falls back to ${of} again: a circle`
              : null;
      if (fault !== null) yield { path: [of, "fallbacks", at], message: fault };
    }
  }
}

function comesBack(models: ModelsConfig, from: string, to: string): boolean {
  return from === to || chainOf(models, from).includes(to);
}

/** A model, its fallbacks, then theirs; each once. */
export function chainOf(models: ModelsConfig, name: string): readonly string[] {
  const chain = new Set([name]);
  for (const one of chain)
    for (const next of (Object.hasOwn(models, one) ? models[one] : undefined)?.fallbacks ?? [])
      chain.add(next);
  return [...chain];
}

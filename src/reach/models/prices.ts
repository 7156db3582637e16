// What an answer costs by the prices of its model's settings, in US dollars.
import type { Usage } from "../../contract/powers/model.ts";
import type { Ability, ModelSettings } from "./config.ts";
import type { AdapterAnswer } from "./model.ts";

type Prices = NonNullable<ModelSettings["prices"]>;

const MILLION = 1_000_000;
/** Counts as a minute, as it does in the budget. */
const UNKNOWN_SECONDS = 60;
const tokens = (
  { inputPerMillion = 0, outputPerMillion = 0 }: Prices,
  { input, output }: Usage,
): number => (input * inputPerMillion + output * outputPerMillion) / MILLION;
const minutes = ({ perMinute = 0 }: Prices, seconds: number): number => (perMinute * seconds) / 60;

const COSTS: { readonly [A in Ability]: (prices: Prices, answer: AdapterAnswer<A>) => number } = {
  generate: (prices, { usage }) => tokens(prices, usage),
  look: (prices, { usage }) => tokens(prices, usage),
  embed: (prices, { usage }) => tokens(prices, usage),
  image: ({ perImage = 0 }, { images }) => perImage * images.length,
  transcribe: (prices, { durationSeconds }) => minutes(prices, durationSeconds ?? UNKNOWN_SECONDS),
  speak: (prices, { seconds }) => minutes(prices, seconds),
};

export function costOf<A extends Ability>(
  ability: A,
  { prices }: ModelSettings,
  answer: AdapterAnswer<A>,
): number {
  return prices ? COSTS[ability](prices, answer) : 0;
}

/** One figure to compare models by; a model without prices costs nothing, as self-hosted ones do. */
const RATES: { readonly [A in Ability]: (prices: Prices) => number } = {
  generate: (prices) => tokens(prices, { input: 1, output: 1 }),
  look: (prices) => tokens(prices, { input: 1, output: 1 }),
  embed: (prices) => tokens(prices, { input: 1, output: 0 }),
  image: ({ perImage = 0 }) => perImage,
  transcribe: ({ perMinute = 0 }) => perMinute,
  speak: ({ perMinute = 0 }) => perMinute,
};

export const rateOf = (ability: Ability, { prices }: ModelSettings): number =>
  prices ? RATES[ability](prices) : 0;

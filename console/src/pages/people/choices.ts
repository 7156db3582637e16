// Values that forms offer, and what they mean.
import type { Inputs } from "../../api/client.ts";

type Key = Inputs["keys"]["createKey"];

export const LEVELS = [
  ["view_only", "view only: sees tools, calls none"],
  ["execute_basic", "basic: safe tools"],
  ["execute_advanced", "advanced: safe and moderate tools"],
  ["admin", "all: dangerous tools too"],
] as const satisfies readonly (readonly [NonNullable<Key["level"]>, string])[];

export const PLAN_NAMES = ["free", "starter", "team", "enterprise"] as const;
export type Plan = (typeof PLAN_NAMES)[number];

/** For a select: none is the empty text. */
export const planOptions = (none: string) =>
  [["", none], ...PLAN_NAMES.map((name) => [name, name] as const)] as const;

export const planOf = (value: string): Plan | null =>
  PLAN_NAMES.find((name) => name === value) ?? null;

export const EXPIRIES = [
  ["7", "in 7 days"],
  ["30", "in 30 days"],
  ["90", "in 90 days"],
  ["365", "in a year"],
] as const;

const DAY_MS = 86_400_000;
export const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString();

/** Words between commas, spaces or line breaks. */
export const wordsOf = (text: string): string[] =>
  text.split(/[\s,]+/).filter((word) => word !== "");

/** A number that was typed; undefined where nothing was. */
export const numberOf = (text: string): number | undefined =>
  text.trim() === "" ? undefined : Number(text);

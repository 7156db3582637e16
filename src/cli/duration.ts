import { InvalidArgumentError } from "commander";

const UNITS: Record<string, number> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `1500`, `30s`, `5m`, `2h`, `90d` as milliseconds; a bare number counts `bare` units. */
export function parseDuration(text: string, bare: "ms" | "s" = "ms"): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim()) ?? [];
  const factor = UNITS[unit === "" ? bare : (unit?.toLowerCase() ?? "")];
  if (amount === undefined || factor === undefined)
    throw new InvalidArgumentError(
      `expected a duration such as 1500, 30s or 5m, got ${JSON.stringify(text)}`,
    );
  return Math.round(Number(amount) * factor);
}

/** A moment: ISO 8601, or a duration counted from now (`+1` forwards, `-1` backwards). */
export function parseMoment(text: string, direction: 1 | -1, now = Date.now()): string {
  if (/^\d{4}-\d{2}-\d{2}/.test(text)) return text;
  return new Date(now + direction * parseDuration(text, "s")).toISOString();
}

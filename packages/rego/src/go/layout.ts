// Go's time layouts: "2006-01-02T15:04:05Z07:00" and relatives, for formatting and parsing.
import { DAYS, MONTHS, fieldsOf, offsetSeconds, unixSeconds } from "./time.ts";
import type { Instant } from "./time.ts";

export const LAYOUTS: Readonly<Record<string, string>> = {
  ANSIC: "Mon Jan _2 15:04:05 2006",
  UnixDate: "Mon Jan _2 15:04:05 MST 2006",
  RubyDate: "Mon Jan 02 15:04:05 -0700 2006",
  RFC822: "02 Jan 06 15:04 MST",
  RFC822Z: "02 Jan 06 15:04 -0700",
  RFC850: "Monday, 02-Jan-06 15:04:05 MST",
  RFC1123: "Mon, 02 Jan 2006 15:04:05 MST",
  RFC1123Z: "Mon, 02 Jan 2006 15:04:05 -0700",
  RFC3339: "2006-01-02T15:04:05Z07:00",
  RFC3339Nano: "2006-01-02T15:04:05.999999999Z07:00",
};

export type Chunk =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "field"; readonly text: string };

// Longest first; a match must be the first in the text, and some are refused by what follows.
const FIELDS = [
  "January",
  "Jan",
  "Monday",
  "Mon",
  "MST",
  "2006",
  "01",
  "02",
  "03",
  "04",
  "05",
  "06",
  "002",
  "__2",
  "_2",
  "15",
  "PM",
  "pm",
  "-07:00:00",
  "-07:00",
  "-070000",
  "-0700",
  "-07",
  "Z07:00:00",
  "Z07:00",
  "Z070000",
  "Z0700",
  "Z07",
  "1",
  "2",
  "3",
  "4",
  "5",
] as const;

/** The field that starts at a position, or an empty text. */
function fieldAt(layout: string, i: number): string {
  const rest = layout.slice(i);
  switch (layout.charAt(i)) {
    case "J":
      if (rest.startsWith("January")) return "January";
      return rest.startsWith("Jan") && !startsLower(rest.slice(3)) ? "Jan" : "";
    case "M":
      if (rest.startsWith("Monday")) return "Monday";
      if (rest.startsWith("Mon") && !startsLower(rest.slice(3))) return "Mon";
      return rest.startsWith("MST") ? "MST" : "";
    case "_":
      if (rest.startsWith("_2006")) return "";
      if (rest.startsWith("__2")) return "__2";
      return rest.startsWith("_2") ? "_2" : "";
    case ".":
    case ",": {
      const fraction = /^[.,](0+|9+)(?!\d)/.exec(rest);
      return fraction?.[0] ?? "";
    }
    default:
      return (
        FIELDS.filter((field) => rest.startsWith(field)).sort((a, b) => b.length - a.length)[0] ??
        ""
      );
  }
}

const startsLower = (text: string): boolean => /^[a-z]/.test(text);

export function splitLayout(layout: string): Chunk[] {
  const chunks: Chunk[] = [];
  let literal = "";
  for (let i = 0; i < layout.length;) {
    const field = fieldAt(layout, i);
    if (field === "") {
      // "_2006" is an underscore and a year, not a padded day.
      literal += layout.charAt(i);
      i++;
      continue;
    }
    if (literal !== "") chunks.push({ kind: "literal", text: literal });
    literal = "";
    chunks.push({ kind: "field", text: field });
    i += field.length;
  }
  if (literal !== "") chunks.push({ kind: "literal", text: literal });
  return chunks;
}

const two = (n: number): string => n.toString().padStart(2, "0");

function yearText(year: number): string {
  return year < 0 ? `-${(-year).toString().padStart(4, "0")}` : year.toString().padStart(4, "0");
}

function offsetText(field: string, offset: number): string {
  if (field.startsWith("Z") && offset === 0) return "Z";
  const abs = Math.abs(offset);
  const colon = field.includes(":") ? ":" : "";
  const parts = [two(Math.floor(abs / 3600)), two(Math.floor((abs % 3600) / 60)), two(abs % 60)];
  const count = (field.replaceAll(":", "").length - 1) / 2;
  return (offset < 0 ? "-" : "+") + parts.slice(0, count).join(colon);
}

function fractionText(field: string, nanos: number): string {
  const digits = nanos
    .toString()
    .padStart(9, "0")
    .slice(0, field.length - 1)
    .padEnd(field.length - 1, "0");
  if (field.charAt(1) === "0") return field.charAt(0) + digits;
  const trimmed = digits.replace(/0+$/, "");
  return trimmed === "" ? "" : field.charAt(0) + trimmed;
}

export function formatTime(t: Instant, layout: string): string {
  const f = fieldsOf(t);
  const hour12 = f.hour % 12 === 0 ? 12 : f.hour % 12;
  const month = MONTHS[f.month - 1] ?? "";
  const day = DAYS[f.weekday] ?? "";
  const render: Readonly<Record<string, () => string>> = {
    "2006": () => yearText(f.year),
    "06": () => two(((f.year % 100) + 100) % 100),
    January: () => month,
    Jan: () => month.slice(0, 3),
    "01": () => two(f.month),
    "1": () => f.month.toString(),
    Monday: () => day,
    Mon: () => day.slice(0, 3),
    "02": () => two(f.day),
    "2": () => f.day.toString(),
    _2: () => f.day.toString().padStart(2, " "),
    __2: () => f.yearDay.toString().padStart(3, " "),
    "002": () => f.yearDay.toString().padStart(3, "0"),
    "15": () => two(f.hour),
    "03": () => two(hour12),
    "3": () => hour12.toString(),
    "04": () => two(f.minute),
    "4": () => f.minute.toString(),
    "05": () => two(f.second),
    "5": () => f.second.toString(),
    PM: () => (f.hour >= 12 ? "PM" : "AM"),
    pm: () => (f.hour >= 12 ? "pm" : "am"),
    MST: () => t.zone.abbreviationAt(unixSeconds(t.nanos)),
  };
  return splitLayout(layout)
    .map(({ kind, text }) => {
      if (kind === "literal") return text;
      const known = render[text];
      if (known !== undefined) return known();
      return /^[.,]/.test(text) ? fractionText(text, f.nanos) : offsetText(text, offsetSeconds(t));
    })
    .join("");
}

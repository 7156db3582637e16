// String formats of JSON Schema, as OPA checks them.
import { parseIp } from "../../go/ip.ts";
import { TimeError, parseTime } from "../../go/parse-time.ts";
import { UrlError, parseUrl } from "../../go/url.ts";
import { compilePattern } from "./schema.ts";

const DATE_TIME_LAYOUTS = [
  "15:04:05",
  "15:04:05Z07:00",
  "2006-01-02",
  "2006-01-02T15:04:05Z07:00",
  "2006-01-02T15:04:05.999999999Z07:00",
];

function fits(layouts: readonly string[], text: string): boolean {
  return layouts.some((layout) => {
    try {
      parseTime(layout, text);
      return true;
    } catch (error) {
      if (error instanceof TimeError) return false;
      throw error;
    }
  });
}

function isUrl(text: string, needsScheme: boolean): boolean {
  if (text.includes("\\")) return false;
  try {
    const { scheme } = parseUrl(text);
    return !needsScheme || scheme !== "";
  } catch (error) {
    if (error instanceof UrlError) return false;
    throw error;
  }
}

const HOSTNAME =
  /^([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]{0,61}[a-zA-Z0-9])(\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]{0,61}[a-zA-Z0-9]))*$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const EMAIL = /^(?:"[^"]*"|[^\s@<>()[\]\\,;:"]+)@[^\s@<>()\\,;:"]+$/;
const JSON_POINTER = /^(?:\/(?:[^~/]|~0|~1)*)*$/;
const RELATIVE_POINTER = /^(?:0|[1-9][0-9]*)(?:#|(?:\/(?:[^~/]|~0|~1)*)*)$/;
const URI_TEMPLATE = /^(?:[^{}]*(?:\{[^{}]*\})?)*$/;

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: (text) => fits(["2006-01-02"], text),
  time: (text) => fits(["15:04:05", "15:04:05Z07:00"], text),
  "date-time": (text) => fits(DATE_TIME_LAYOUTS, text),
  hostname: (text) => HOSTNAME.test(text) && text.length < 256,
  email: (text) => EMAIL.test(text),
  "idn-email": (text) => EMAIL.test(text),
  ipv4: (text) => parseIp(text)?.length === 4,
  ipv6: (text) => text.includes(":") && parseIp(text) !== undefined,
  uri: (text) => isUrl(text, true),
  iri: (text) => isUrl(text, true),
  "uri-reference": (text) => isUrl(text, false),
  "iri-reference": (text) => isUrl(text, false),
  "uri-template": (text) => isUrl(text, false) && URI_TEMPLATE.test(text),
  uuid: (text) => UUID.test(text),
  regex: (text) => text === "" || compilePattern(text) !== undefined,
  "json-pointer": (text) => JSON_POINTER.test(text),
  "relative-json-pointer": (text) => RELATIVE_POINTER.test(text),
};

/** An unknown format accepts every value. */
export function matchesFormat(format: string, text: string): boolean {
  return Object.hasOwn(FORMATS, format) ? (FORMATS[format]?.(text) ?? true) : true;
}

// providers.aws.sign_req: signature version 4 of a request object.
import { RegoObject, RegoSet, compareStrings } from "../values/value.ts";
import type { Value } from "../values/value.ts";
import { valueText } from "../values/text.ts";
import { ANY, NUMBER, STRING, objectOf } from "../types/type.ts";
import { encodeHex } from "../go/base64.ts";
import { formatTime } from "../go/layout.ts";
import { UrlError, escapedPath, parseUrl } from "../go/url.ts";
import type { ParsedUrl } from "../go/url.ts";
import { encodeUtf8 } from "../go/utf8.ts";
import { UTC } from "../go/zone.ts";
import type { Builtin, BuiltinContext, CryptoPower } from "./builtin.ts";
import { cryptoOf } from "./crypto.ts";
import { checkRequest } from "./http.ts";
import { marshal } from "./json/json.ts";
import {
  arg,
  asInt64,
  badOperand,
  fail,
  fn,
  number,
  object,
  orElse,
  wrongType,
} from "./operands.ts";
import type { Args } from "./operands.ts";

const REQUIRED = ["aws_service", "aws_access_key", "aws_secret_access_key", "aws_region"];
const UNSIGNED_HEADERS = ["authorization", "user-agent", "x-amzn-trace-id"];

function names(list: readonly string[]): string {
  return valueText(RegoSet.of(list));
}

function checkConfig(config: RegoObject): void {
  const missing = REQUIRED.filter((name) => !config.has(name));
  if (missing.length > 0)
    badOperand(2, `missing required AWS config parameters(s): ${names(missing)}`);
  const invalid = REQUIRED.filter((name) => typeof config.get(name) !== "string");
  if (invalid.length > 0) {
    badOperand(2, `invalid values for required AWS config parameters(s): ${names(invalid)}`);
  }
}

const text = (source: RegoObject, name: string): string => {
  const value = source.get(name);
  return typeof value === "string" ? value : "";
};

function headersOf(request: RegoObject): [string, string][] {
  const headers = orElse(request.get("headers"), () => RegoObject.EMPTY);
  if (!(headers instanceof RegoObject)) return wrongType(0, headers, "object");
  return headers
    .entries()
    .map(([key, value]): [string, string] => [
      typeof key === "string" ? key : "",
      typeof value === "string" ? value : "",
    ]);
}

function bodyOf(request: RegoObject): Uint8Array {
  const raw = request.get("raw_body");
  if (raw !== undefined) return encodeUtf8(typeof raw === "string" ? raw : "");
  const body = request.get("body");
  return body === undefined ? new Uint8Array() : encodeUtf8(marshal(body));
}

function readUrl(request: RegoObject): ParsedUrl {
  const invalid = ["url", "method"].filter((name) => typeof request.get(name) !== "string");
  if (invalid.length > 0) {
    badOperand(1, `invalid values for required request parameters(s): ${names(invalid)}`);
  }
  try {
    return parseUrl(text(request, "url"));
  } catch (error) {
    if (error instanceof UrlError) return fail(error.message);
    throw error;
  }
}

interface Signing {
  readonly request: RegoObject;
  readonly config: RegoObject;
  readonly nanos: bigint;
  readonly unsignedPayload: boolean;
  readonly crypto: CryptoPower;
}

function sign({ request, config, nanos, unsignedPayload, crypto }: Signing): Value {
  const url = readUrl(request);
  const given = headersOf(request);
  const service = text(config, "aws_service");
  const region = text(config, "aws_region");
  const hash = (data: Uint8Array): string => encodeHex(crypto.hash("sha256", data));
  const payload = unsignedPayload ? "UNSIGNED-PAYLOAD" : hash(bodyOf(request));
  const at = { nanos, zone: UTC };
  const stamp = formatTime(at, "20060102T150405Z");
  const day = formatTime(at, "20060102");
  const token = text(config, "aws_session_token");
  const own: [string, string][] = [
    ["host", url.host],
    ["x-amz-date", stamp],
    ...(service === "s3" || service === "glacier"
      ? [["x-amz-content-sha256", payload] as [string, string]]
      : []),
    ...(token === "" ? [] : [["x-amz-security-token", token] as [string, string]]),
  ];
  const signed = new Map(own);
  for (const [name, value] of given) {
    const lower = name.toLowerCase();
    if (!UNSIGNED_HEADERS.includes(lower)) signed.set(lower, value);
  }
  const ordered = [...signed].sort((a, b) => compareStrings(a[0], b[0]));
  const list = ordered.map(([name]) => name).join(";");
  const lines = ordered.map(([name, value]) => `${name}:${value}\n`).join("");
  const canonical = `${text(request, "method")}\n${escapedPath(url)}\n${url.rawQuery}\n${lines}\n${list}\n${payload}`;
  const scope = `${day}/${region}/${service}/aws4_request`;
  const toSign = `AWS4-HMAC-SHA256\n${stamp}\n${scope}\n${hash(encodeUtf8(canonical))}`;
  const key = [day, region, service, "aws4_request"].reduce<Uint8Array>(
    (secret, part) => crypto.hmac("sha256", secret, encodeUtf8(part)),
    encodeUtf8(`AWS4${text(config, "aws_secret_access_key")}`),
  );
  const signature = encodeHex(crypto.hmac("sha256", key, encodeUtf8(toSign)));
  const credential = `${text(config, "aws_access_key")}/${scope}`;
  const authorization = `AWS4-HMAC-SHA256 Credential=${credential},SignedHeaders=${list},Signature=${signature}`;
  return request.with(
    "headers",
    RegoObject.of([...given, ["Authorization", authorization], ...own] as [string, string][]),
  );
}

function signRequest(args: Args, ctx: BuiltinContext): Value {
  const request = object(args, 1);
  const given = arg(args, 2);
  // OPA counts this one as the first too.
  const config = given instanceof RegoObject ? given : wrongType(1, given, "object");
  checkConfig(config);
  const nanos =
    asInt64(number(args, 3)) ??
    badOperand(3, "could not convert time_ns value into a unix timestamp");
  checkRequest(request);
  const disabled = orElse(config.get("disable_payload_signing"), () => false);
  readUrl(request);
  if (typeof disabled !== "boolean") {
    return badOperand(2, "invalid value for 'disable_payload_signing' in AWS config");
  }
  return sign({ request, config, nanos, unsignedPayload: disabled, crypto: cryptoOf(ctx) });
}

const OBJECT = objectOf(STRING, ANY);

export const AWS: readonly Builtin[] = [
  fn("providers.aws.sign_req", [OBJECT, OBJECT, NUMBER], objectOf(ANY, ANY), signRequest, {
    needs: "crypto",
  }),
];

import { keyText } from "../../values/json.ts";
import { compareNumbers, toDouble } from "../../values/number.ts";
import { RegoObject, isArray, isNumber } from "../../values/value.ts";
import type { Value } from "../../values/value.ts";
import { ANY, BOOLEAN, STRING, objectOf, tupleOf } from "../../types/type.ts";
import { encodeBase64, encodeHex } from "../../go/base64.ts";
import { JsonError, parseJson } from "../../go/json.ts";
import { decodeUtf8, encodeUtf8 } from "../../go/utf8.ts";
import { BuiltinError } from "../builtin.ts";
import type { Builtin, BuiltinContext } from "../builtin.ts";
import { cryptoOf } from "../crypto.ts";
import { base64UrlBytes } from "../encoding.ts";
import { marshal } from "../json/json.ts";
import { ALGORITHMS, parseJwks, verificationKeys } from "./jwk.ts";
import type { TokenKey } from "./jwk.ts";
import { signBytes, verifySignature } from "./jws.ts";
import { arg, fail, fn, object, orElse, string, wrongType } from "../operands.ts";
import type { Args } from "../operands.ts";

interface Token {
  readonly header: string;
  readonly payload: string;
  readonly signature: string;
}

function split(value: Value): Token {
  const text = typeof value === "string" ? value : wrongType(1, value, "string");
  if (!text.includes(".")) return fail("encoded JWT had no period separators");
  const parts = text.split(".");
  const [header = "", payload = "", signature = ""] = parts;
  if (parts.length !== 3) return fail(`encoded JWT must have 3 sections, found ${parts.length}`);
  return { header, payload, signature };
}

/** Decodes one section; an error says which one it was. */
function section(name: string, text: string): Uint8Array {
  try {
    return base64UrlBytes(text);
  } catch (error) {
    if (!(error instanceof BuiltinError)) throw error;
    return fail(`JWT ${name} had invalid encoding: ${error.message}`);
  }
}

function jsonObject(text: string): RegoObject {
  let value: Value;
  try {
    value = parseJson(text);
  } catch (error) {
    if (error instanceof JsonError) return fail(`invalid JSON: ${error.message}`);
    throw error;
  }
  return value instanceof RegoObject ? value : fail("decoded JSON type was not an Object");
}

function headerOf(token: Token): RegoObject {
  const text = decodeUtf8(section("header", token.header));
  let header: RegoObject;
  try {
    header = jsonObject(text);
  } catch (error) {
    if (!(error instanceof BuiltinError)) throw error;
    return fail(`bad JWT header: ${error.message}`);
  }
  return header.has("enc") ? fail("JWT is a JWE object, which is not supported") : header;
}

/** A token inside a token inside a token is as deep as anyone goes. */
const MAX_NESTING = 10;

function decode(value: Value, depth = 0): Value {
  if (depth > MAX_NESTING) return fail("JWT is nested too deeply");
  const token = split(value);
  const header = headerOf(token);
  const payload = decodeUtf8(section("payload", token.payload));
  if (header.get("cty") === "JWT") return decode(payload.replace(/^["']+|["']+$/g, ""), depth + 1);
  const claims = jsonObject(payload);
  return [header, claims, encodeHex(section("signature", token.signature))];
}

interface Header {
  readonly alg: string;
  readonly kid: string;
  readonly cty: string;
  /** Names of unknown members that the token says must be understood. */
  readonly unmet: boolean;
}

const KNOWN_HEADERS = ["alg", "kid", "typ", "cty", "crit"];

function readHeader(header: RegoObject): Header {
  const text = (name: string): string => {
    const value = orElse(header.get(name), () => "");
    return typeof value === "string" ? value : fail(`${name}: must be a string`);
  };
  const crit = header.get("crit");
  if (crit !== undefined && !isArray(crit)) return fail("crit: must be a list");
  const critical = new Set<Value>(crit?.filter((name) => typeof name === "string") ?? []);
  if (crit !== undefined && critical.size === 0) return fail("crit: must be a nonempty list");
  text("typ");
  const unknown = header.keys().filter((name) => !KNOWN_HEADERS.includes(keyText(name)));
  return {
    alg: text("alg"),
    kid: text("kid"),
    cty: text("cty"),
    unmet: unknown.some((name) => critical.has(name)),
  };
}

const signedBytes = (token: Token): Uint8Array => encodeUtf8(`${token.header}.${token.payload}`);

/** The key the header names, else every key that may be it. */
function candidates(header: Header, keys: readonly TokenKey[]): readonly TokenKey[] {
  const named = header.kid === "" ? undefined : keys.find((key) => key.kid === header.kid);
  if (named !== undefined) return [named];
  return keys.filter((key) => key.alg === "" || key.alg === header.alg);
}

const verifier = (alg: string): Builtin =>
  fn(
    `io.jwt.verify_${alg.toLowerCase()}`,
    [STRING, STRING],
    BOOLEAN,
    (a, ctx) => {
      const token = split(arg(a, 1));
      const keys = verificationKeys(string(a, 2));
      const bytes = base64UrlBytes(token.signature);
      const header = readHeader(headerOf(token));
      const signature = { data: signedBytes(token), bytes };
      ctx.tick(100);
      return candidates(header, keys).some((key) =>
        verifySignature(alg, key, signature, cryptoOf(ctx)),
      );
    },
    { needs: "crypto" },
  );

const secretKey = (secret: string): TokenKey => ({
  alg: "",
  kid: "",
  kind: "oct",
  secret: encodeUtf8(secret),
});

const hmacVerifier = (alg: string): Builtin =>
  fn(
    `io.jwt.verify_${alg.toLowerCase()}`,
    [STRING, STRING],
    BOOLEAN,
    (a, ctx) => {
      const encoded = string(a, 1);
      const key = secretKey(string(a, 2));
      const token = split(encoded);
      const bytes = base64UrlBytes(token.signature);
      return verifySignature(alg, key, { data: signedBytes(token), bytes }, cryptoOf(ctx));
    },
    { needs: "crypto" },
  );

interface Constraints {
  readonly keys: readonly TokenKey[];
  readonly alg: string;
  readonly iss: string;
  readonly aud: string;
  readonly timeNs: number;
}

function readConstraints(options: RegoObject, ctx: BuiltinContext): Constraints {
  const text = (name: string): string => {
    const value = orElse(options.get(name), () => "");
    return typeof value === "string" ? value : fail(`${name} constraint: must be a string`);
  };
  const known = ["cert", "secret", "alg", "iss", "aud", "time"];
  const unknown = options.keys().find((key) => !known.includes(keyText(key)));
  if (unknown !== undefined)
    return fail(`unknown token validation constraint: ${keyText(unknown)}`);
  const cert = options.get("cert");
  const certKeys = cert === undefined ? undefined : verificationKeys(text("cert"));
  const secret = text("secret");
  const time = options.get("time");
  if (time !== undefined && !isNumber(time)) return fail("token time constraint: must be a number");
  const timeNs = time === undefined ? Number(ctx.nowNs()) : toDouble(time);
  if (timeNs < 0) return fail("token time constraint: must not be negative");
  if (certKeys !== undefined && secret !== "") return fail("duplicate key constraints");
  if (certKeys === undefined && secret === "") return fail("no key constraint");
  return {
    keys: certKeys ?? [secretKey(secret)],
    alg: text("alg"),
    iss: text("iss"),
    aud: text("aud"),
    timeNs,
  };
}

const isAudience = (aud: Value, wanted: string): boolean =>
  aud === wanted || (isArray(aud) && aud.includes(wanted));

/** Issuer, audience and times. */
function claimsHold(claims: RegoObject, wanted: Constraints): boolean {
  if (wanted.iss !== "" && claims.get("iss") !== wanted.iss) return false;
  const aud = claims.get("aud");
  if (aud === undefined ? wanted.aud !== "" : !isAudience(aud, wanted.aud)) return false;
  const seconds = wanted.timeNs / 1e9;
  const exp = claims.get("exp");
  if (exp !== undefined) {
    if (!isNumber(exp)) return fail("exp value must be a number");
    if (compareNumbers(seconds, exp) >= 0) return false;
  }
  const nbf = claims.get("nbf");
  if (nbf === undefined) return true;
  if (!isNumber(nbf)) return fail("nbf value must be a number");
  return compareNumbers(seconds, nbf) >= 0;
}

const UNVERIFIED: Value = [false, RegoObject.EMPTY, RegoObject.EMPTY];

function decodeVerify(args: Args, ctx: BuiltinContext): Value {
  const wanted = readConstraints(object(args, 2), ctx);
  let value = arg(args, 1);
  for (let depth = 0; depth <= MAX_NESTING; depth++) {
    ctx.tick(100);
    const token = split(value);
    const rawHeader = headerOf(token);
    const header = readHeader(rawHeader);
    if (header.alg === "" || header.unmet) return UNVERIFIED;
    if (wanted.alg !== "" && wanted.alg !== header.alg) return UNVERIFIED;
    const signature = { data: signedBytes(token), bytes: base64UrlBytes(token.signature) };
    const genuine =
      ALGORITHMS.has(header.alg) &&
      candidates(header, wanted.keys).some((key) =>
        verifySignature(header.alg, key, signature, cryptoOf(ctx)),
      );
    if (!genuine) return UNVERIFIED;
    const payload = decodeUtf8(section("payload", token.payload));
    if (header.cty.toUpperCase() === "JWT") {
      value = payload;
      continue;
    }
    const claims = jsonObject(payload);
    return claimsHold(claims, wanted) ? [true, rawHeader, claims] : UNVERIFIED;
  }
  return fail("JWT is nested too deeply");
}

/** A member of a JSON header text; undefined when it is absent or no string. */
function headerMember(header: string, name: string): { value: string } | { problem: string } {
  // OPA's reader takes any run of these for a number, which has no members.
  if (/^\s*[-+.eE0-9]+\s*$/.test(header)) return { problem: `jwsbb: header "${name}" not found` };
  let parsed: Value;
  try {
    parsed = parseJson(header);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const why = header === "" ? "cannot parse empty string" : error.message;
    return { problem: `cannot parse JSON: ${why}` };
  }
  const value = parsed instanceof RegoObject ? parsed.get(name) : undefined;
  if (value === undefined) return { problem: `jwsbb: header "${name}" not found` };
  return typeof value === "string"
    ? { value }
    : { problem: `jwsbb: header "${name}" is not a string` };
}

function isJson(text: string): boolean {
  try {
    parseJson(text);
    return true;
  } catch (error) {
    if (error instanceof JsonError) return false;
    throw error;
  }
}

function encodeSign(header: string, payload: string, jwk: string, ctx: BuiltinContext): Value {
  const key = parseJwks(jwk)[0] ?? fail("no keys found in JWK set");
  const alg = headerMember(header, "alg");
  if ("problem" in alg) return fail(`missing or invalid 'alg' header: ${alg.problem}`);
  if (!ALGORITHMS.has(alg.value)) return fail(`unknown JWS algorithm: ${alg.value}`);
  const typ = headerMember(header, "typ");
  if (("problem" in typ || typ.value === "JWT") && !isJson(payload)) {
    return fail("type is JWT but payload is not JSON");
  }
  const encode = (bytes: Uint8Array): string => encodeBase64(bytes, "url", false);
  const signed = `${encode(encodeUtf8(header))}.${encode(encodeUtf8(payload))}`;
  ctx.tick(100);
  return `${signed}.${encode(signBytes(alg.value, key, encodeUtf8(signed), cryptoOf(ctx)))}`;
}

const OBJECT = objectOf(ANY, ANY);
const OPTIONS = objectOf(STRING, ANY);
const SIGNING = { needs: "crypto", nondeterministic: true } as const;

export const JWT: readonly Builtin[] = [
  fn("io.jwt.decode", [STRING], tupleOf(OBJECT, OBJECT, STRING), (a) => decode(arg(a, 1))),
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"].map(
    verifier,
  ),
  ...["HS256", "HS384", "HS512"].map(hmacVerifier),
  fn(
    "io.jwt.decode_verify",
    [STRING, OPTIONS],
    tupleOf(BOOLEAN, OBJECT, OBJECT),
    decodeVerify,
    SIGNING,
  ),
  fn(
    "io.jwt.encode_sign",
    [OPTIONS, OPTIONS, OPTIONS],
    STRING,
    (a, ctx) => encodeSign(marshal(arg(a, 1)), marshal(arg(a, 2)), marshal(arg(a, 3)), ctx),
    SIGNING,
  ),
  fn(
    "io.jwt.encode_sign_raw",
    [STRING, STRING, STRING],
    STRING,
    (a, ctx) => {
      const jwk = string(a, 3);
      return encodeSign(string(a, 1), string(a, 2), jwk, ctx);
    },
    SIGNING,
  ),
];

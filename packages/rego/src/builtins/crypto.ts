// Hashes and message codes. All of them go through the crypto power: the evaluator has none itself.
import { BOOLEAN, STRING } from "../types/type.ts";
import { encodeHex } from "../go/base64.ts";
import { encodeUtf8 } from "../go/utf8.ts";
import type { Builtin, BuiltinContext, CryptoPower } from "./builtin.ts";
import { fail, fn, string } from "./operands.ts";

export function cryptoOf(ctx: BuiltinContext): CryptoPower {
  return ctx.powers.crypto ?? fail("no cryptography was granted");
}

const hash = (name: string): Builtin =>
  fn(
    `crypto.${name}`,
    [STRING],
    STRING,
    (a, ctx) => {
      const data = encodeUtf8(string(a, 1));
      ctx.tick(1 + (data.length >> 6));
      return encodeHex(cryptoOf(ctx).hash(name, data));
    },
    { needs: "crypto" },
  );

const hmac = (name: string): Builtin =>
  fn(
    `crypto.hmac.${name}`,
    [STRING, STRING],
    STRING,
    (a, ctx) => {
      const data = encodeUtf8(string(a, 1));
      const key = encodeUtf8(string(a, 2));
      ctx.tick(1 + (data.length >> 6));
      return encodeHex(cryptoOf(ctx).hmac(name, key, data));
    },
    { needs: "crypto" },
  );

export const CRYPTO: readonly Builtin[] = [
  hash("md5"),
  hash("sha1"),
  hash("sha256"),
  hmac("md5"),
  hmac("sha1"),
  hmac("sha256"),
  hmac("sha512"),
  fn(
    "crypto.hmac.equal",
    [STRING, STRING],
    BOOLEAN,
    (a, ctx) => {
      const [left, right] = [encodeUtf8(string(a, 1)), encodeUtf8(string(a, 2))];
      return left.length === right.length && cryptoOf(ctx).timingSafeEqual(left, right);
    },
    { needs: "crypto" },
  ),
];

// Signing and checking of token bytes, one algorithm of RFC 7518 at a time.
import type { CryptoPower } from "../builtin.ts";
import { fail } from "../operands.ts";
import { keyInput } from "./jwk.ts";
import type { TokenKey } from "./jwk.ts";

const hashOf = (alg: string): string => `sha${alg.slice(2)}`;

interface Signature {
  readonly data: Uint8Array;
  readonly bytes: Uint8Array;
}

const FAMILY_KEY: Readonly<Record<string, string>> = {
  RS: "RSA",
  PS: "RSA",
  ES: "EC",
  Ed: "OKP",
  HS: "oct",
};

/** A key from PEM may be of any kind; the power finds out. */
const fits = (alg: string, key: TokenKey): boolean =>
  key.kind === "pem" ? !alg.startsWith("HS") : FAMILY_KEY[alg.slice(0, 2)] === key.kind;

export function verifySignature(
  alg: string,
  key: TokenKey,
  signature: Signature,
  crypto: CryptoPower,
): boolean {
  if (!fits(alg, key)) return false;
  const { data, bytes } = signature;
  switch (alg.slice(0, 2)) {
    case "HS": {
      const own = crypto.hmac(hashOf(alg), key.secret ?? new Uint8Array(), data);
      return own.length === bytes.length && crypto.timingSafeEqual(own, bytes);
    }
    case "RS":
      return crypto.verify(hashOf(alg), data, keyInput(key, "public", { padding: "pkcs1" }), bytes);
    case "PS":
      return crypto.verify(hashOf(alg), data, keyInput(key, "public", { padding: "pss" }), bytes);
    case "ES":
      return crypto.verify(
        hashOf(alg),
        data,
        keyInput(key, "public", { dsaEncoding: "ieee-p1363" }),
        bytes,
      );
    default:
      return crypto.verify(null, data, keyInput(key, "public", {}), bytes);
  }
}

export function signBytes(
  alg: string,
  key: TokenKey,
  data: Uint8Array,
  crypto: CryptoPower,
): Uint8Array {
  if (!fits(alg, key)) return fail(`invalid key type ${key.kind} for algorithm ${alg}`);
  try {
    switch (alg.slice(0, 2)) {
      case "HS":
        return crypto.hmac(hashOf(alg), key.secret ?? new Uint8Array(), data);
      case "RS":
        return crypto.sign(hashOf(alg), data, keyInput(key, "private", { padding: "pkcs1" }));
      case "PS":
        return crypto.sign(hashOf(alg), data, keyInput(key, "private", { padding: "pss" }));
      case "ES":
        return crypto.sign(
          hashOf(alg),
          data,
          keyInput(key, "private", { dsaEncoding: "ieee-p1363" }),
        );
      default:
        return crypto.sign(null, data, keyInput(key, "private", {}));
    }
  } catch (error) {
    return fail(`failed to sign: ${error instanceof Error ? error.message : "unknown reason"}`);
  }
}

import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { nodeCrypto } from "../../node-crypto.ts";
import { RegoObject, isArray } from "../../values/value.ts";
import { call, callValue, callWith, testContext } from "../testing.ts";

const granted = (): ReturnType<typeof testContext> => testContext({ crypto: nodeCrypto });
const OCT = { kty: "oct", k: Buffer.from("secret").toString("base64url") };

function sign(header: Record<string, unknown>, payload: unknown, jwk: unknown): string {
  const token = callValue("io.jwt.encode_sign", [header, payload, jwk], granted());
  return typeof token === "string" ? token : "";
}

describe("hashes", () => {
  test("need the crypto power", () => {
    expect(call("crypto.sha256", "a")).toBe("failure: no cryptography was granted");
  });

  test("known values", () => {
    expect(callWith(granted(), "crypto.md5", "a")).toBe('"0cc175b9c0f1b6a831c399e269772661"');
    expect(callWith(granted(), "crypto.hmac.sha256", "foo", "bar")).toBe(
      '"147933218aaabc0b8b10a2b3a5c34684c8d94341bcf10a4736dc7270f7741851"',
    );
    expect(callWith(granted(), "crypto.hmac.equal", "a", "b")).toBe("false");
    expect(callWith(granted(), "crypto.hmac.equal", "a", "a")).toBe("true");
  });
});

describe("tokens", () => {
  test.each([
    ["RS256", "verify_rs256", generateKeyPairSync("rsa", { modulusLength: 2048 })],
    ["PS384", "verify_ps384", generateKeyPairSync("rsa", { modulusLength: 2048 })],
    ["ES256", "verify_es256", generateKeyPairSync("ec", { namedCurve: "P-256" })],
    ["EdDSA", "verify_eddsa", generateKeyPairSync("ed25519")],
  ])("%s signs and verifies, with JWK and PEM", (alg, verify, { privateKey, publicKey }) => {
    const token = sign({ alg, typ: "JWT" }, { sub: "a" }, privateKey.export({ format: "jwk" }));
    const jwk = JSON.stringify(publicKey.export({ format: "jwk" }));
    const pem = publicKey.export({ format: "pem", type: "spki" }).toString();
    expect(callWith(granted(), `io.jwt.${verify}`, token, jwk)).toBe("true");
    expect(callWith(granted(), `io.jwt.${verify}`, token, pem)).toBe("true");
    const [head = "", , signature = ""] = token.split(".");
    const forged = `${head}.${Buffer.from('{"sub":"b"}').toString("base64url")}.${signature}`;
    expect(callWith(granted(), `io.jwt.${verify}`, forged, jwk)).toBe("false");
  });

  test("decode shows header, payload and signature", () => {
    const token = sign({ alg: "HS256", typ: "JWT" }, { sub: "a" }, OCT);
    expect(call("io.jwt.decode", token)).toMatch(
      /^\[{"alg": "HS256", "typ": "JWT"}, {"sub": "a"}, "[0-9a-f]{64}"\]$/,
    );
    expect(call("io.jwt.decode", "a.b")).toBe("failure: encoded JWT must have 3 sections, found 2");
    expect(call("io.jwt.decode", "abc")).toBe("failure: encoded JWT had no period separators");
  });

  test("decode_verify checks signature, algorithm, issuer, audience and times", () => {
    const token = sign(
      { alg: "HS256", typ: "JWT" },
      { iss: "me", aud: ["x"], exp: 200, nbf: 100 },
      OCT,
    );
    const verified = (constraints: Record<string, unknown>): boolean => {
      const result = callValue(
        "io.jwt.decode_verify",
        [token, { secret: "secret", aud: "x", time: 150e9, ...constraints }],
        granted(),
      );
      return result !== undefined && isArray(result) && (result as unknown[])[0] === true;
    };
    expect(verified({})).toBe(true);
    expect(verified({ iss: "me", alg: "HS256" })).toBe(true);
    expect(verified({ alg: "HS512" })).toBe(false);
    expect(verified({ iss: "you" })).toBe(false);
    expect(verified({ aud: "y" })).toBe(false);
    expect(verified({ time: 99e9 })).toBe(false);
    expect(verified({ time: 200e9 })).toBe(false);
    expect(verified({ secret: "wrong" })).toBe(false);
  });

  test("an unsigned token is never verified", () => {
    const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from("{}").toString("base64url")}.`;
    expect(callWith(granted(), "io.jwt.decode_verify", none, { secret: "s" })).toBe(
      "[false, {}, {}]",
    );
  });

  test("a public key is no secret: HS256 with a PEM key is refused", () => {
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const pem = publicKey.export({ format: "pem", type: "spki" }).toString();
    const token = sign(
      { alg: "HS256" },
      {},
      { kty: "oct", k: Buffer.from(pem).toString("base64url") },
    );
    expect(callWith(granted(), "io.jwt.decode_verify", token, { cert: pem })).toBe(
      "[false, {}, {}]",
    );
  });

  test("constraints are checked", () => {
    const token = sign({ alg: "HS256" }, {}, OCT);
    expect(callWith(granted(), "io.jwt.decode_verify", token, {})).toBe(
      "failure: no key constraint",
    );
    expect(callWith(granted(), "io.jwt.decode_verify", token, { secret: "s", x: 1 })).toBe(
      "failure: unknown token validation constraint: x",
    );
  });
});

describe("keys", () => {
  test("a private key in PEM becomes a JWK", () => {
    for (const kind of ["ed25519", "ec", "rsa"] as const) {
      const { privateKey } =
        kind === "rsa"
          ? generateKeyPairSync("rsa", { modulusLength: 1024 })
          : kind === "ec"
            ? generateKeyPairSync("ec", { namedCurve: "P-384" })
            : generateKeyPairSync("ed25519");
      const pem = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
      const jwk = callValue("crypto.x509.parse_rsa_private_key", [pem], granted());
      expect(jwk).toBeInstanceOf(RegoObject);
      for (const [name, value] of Object.entries(privateKey.export({ format: "jwk" }))) {
        expect(jwk instanceof RegoObject ? jwk.get(name) : undefined).toBe(value);
      }
    }
  });

  test("what is no certificate is an error", () => {
    expect(call("crypto.x509.parse_certificates", "foobar")).toContain("illegal base64");
    expect(call("crypto.x509.parse_certificates", "YmFk")).toContain("x509: malformed certificate");
    expect(call("crypto.x509.parse_certificate_request", "YmFkc3RyaW5n")).toContain(
      "asn1: structure error",
    );
  });
});

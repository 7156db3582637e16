// The crypto power of the Rego evaluator on Node.
import {
  constants,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  sign,
  timingSafeEqual,
  verify,
} from "node:crypto";
import type { KeyObject, SignKeyObjectInput } from "node:crypto";
import type { CryptoKeyInput, CryptoPower } from "./builtins/builtin.ts";

function keyObject(input: CryptoKeyInput): KeyObject {
  const create = input.visibility === "private" ? createPrivateKey : createPublicKey;
  if (typeof input.key === "string") return create(input.key);
  if (input.key instanceof Uint8Array) {
    const key = Buffer.from(input.key);
    const { type } = input;
    if (input.visibility === "private") {
      return createPrivateKey({
        key,
        format: "der",
        type: type === "spki" || type === undefined ? "pkcs8" : type,
      });
    }
    return createPublicKey({ key, format: "der", type: type === "pkcs1" ? "pkcs1" : "spki" });
  }
  // The caller read it from JSON; node checks the members.
  return create({ key: input.key, format: "jwk" });
}

function options(input: CryptoKeyInput): SignKeyObjectInput {
  const key = keyObject(input);
  const auto =
    input.visibility === "private"
      ? constants.RSA_PSS_SALTLEN_DIGEST
      : constants.RSA_PSS_SALTLEN_AUTO;
  return {
    key,
    ...(input.padding === "pss"
      ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: input.saltLength ?? auto }
      : {}),
    ...(input.padding === "pkcs1" ? { padding: constants.RSA_PKCS1_PADDING } : {}),
    ...(input.dsaEncoding === undefined ? {} : { dsaEncoding: input.dsaEncoding }),
  };
}

export const nodeCrypto: CryptoPower = {
  hash: (algorithm, data) => createHash(algorithm).update(data).digest(),
  hmac: (algorithm, key, data) => createHmac(algorithm, key).update(data).digest(),
  timingSafeEqual,
  sign: (algorithm, data, key) => sign(algorithm, data, options(key)),
  // A key or signature that node cannot even read verifies nothing.
  verify: (algorithm, data, key, signature) => {
    try {
      return verify(algorithm, data, options(key), signature);
    } catch {
      return false;
    }
  },
  publicKeyOf: (pkcs8) => {
    const key = Buffer.from(pkcs8);
    const privateKey = createPrivateKey({ key, format: "der", type: "pkcs8" });
    return createPublicKey(privateKey).export({ format: "der", type: "spki" });
  },
};

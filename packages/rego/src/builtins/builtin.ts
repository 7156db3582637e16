// What a built-in function is to the evaluator.
import type { Type } from "../types/type.ts";
import type { Value } from "../values/value.ts";

/** Abilities the host may grant. A built-in that needs an absent one fails with a clear error. */
export interface RegoPowers {
  /** Nanoseconds since the epoch; read once per query. */
  readonly nowNs?: () => bigint;
  /** `n` random bytes. */
  readonly randomBytes?: (n: number) => Uint8Array;
  readonly crypto?: CryptoPower;
  /** Sends the request object of `http.send` and returns its response object. */
  readonly http?: (request: Value) => Value;
  /** The addresses of a host name. */
  readonly lookup?: (host: string) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Receives each line of `print`. */
  readonly print?: (line: string, at: Location) => void;
}

export type PowerName = keyof RegoPowers;

/** Synchronous cryptography; the shape of node:crypto so that the host can hand it over as it is. */
export interface CryptoPower {
  hash(algorithm: string, data: Uint8Array): Uint8Array;
  hmac(algorithm: string, key: Uint8Array, data: Uint8Array): Uint8Array;
  timingSafeEqual(a: Uint8Array, b: Uint8Array): boolean;
  /** `key` is PEM, DER (SPKI/PKCS8) or a JWK object; options follow node:crypto. */
  sign(algorithm: string | null, data: Uint8Array, key: CryptoKeyInput): Uint8Array;
  verify(
    algorithm: string | null,
    data: Uint8Array,
    key: CryptoKeyInput,
    signature: Uint8Array,
  ): boolean;
  /** The SPKI bytes of the public key that belongs to a PKCS8 private key. */
  publicKeyOf(pkcs8: Uint8Array): Uint8Array;
}

export interface CryptoKeyInput {
  readonly key: string | Uint8Array | Readonly<Record<string, unknown>>;
  readonly format?: "pem" | "der" | "jwk";
  readonly type?: "pkcs1" | "pkcs8" | "spki" | "sec1";
  readonly padding?: "pkcs1" | "pss";
  readonly saltLength?: number;
  readonly dsaEncoding?: "der" | "ieee-p1363";
  readonly visibility: "public" | "private";
}

export interface Location {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface BuiltinContext {
  readonly powers: RegoPowers;
  /** Nanoseconds since the epoch, the same throughout one query. */
  readonly nowNs: () => bigint;
  /** Counts work against the step limit and the deadline. Call it in every loop over data. */
  readonly tick: (steps?: number) => void;
  /** Lives as long as the query: results that must not change within it (rand, uuid). */
  readonly cache: Map<string, unknown>;
  /** Lives as long as the policy and is bounded: compiled patterns and other pure results. */
  readonly memo: Memo;
  readonly location: Location;
  readonly runtime: Value;
  /** Receives `trace(...)` notes; absent unless an explanation was asked for. */
  readonly trace?: (note: string) => void;
  /** The JSON form of a parsed module, for rego.parse_module. Throws BuiltinError on bad source. */
  readonly parseModule: (file: string, source: string) => Value;
}

export interface Memo {
  /** The value made earlier for this kind and key, or a new one. */
  get<T>(kind: string, key: string, make: () => T): T;
}

interface BuiltinDecl {
  readonly name: string;
  readonly args: readonly Type[];
  /** More arguments of this type may follow `args` (only print has them). */
  readonly variadic?: Type;
  /** Absent when the built-in yields nothing (print). */
  readonly result?: Type;
  /** The operator it is written as. */
  readonly infix?: string;
  readonly needs?: PowerName;
  /** The result may differ between queries. */
  readonly nondeterministic?: true;
  /** Still callable, but gone from Rego v1 (strict mode refuses it). */
  readonly deprecated?: true;
}

/** A function of its arguments; undefined means that the call is undefined. */
export interface FunctionBuiltin extends BuiltinDecl {
  readonly relation?: false;
  run(args: readonly Value[], ctx: BuiltinContext): Value | undefined;
}

/** A relation, such as `walk`: a call has as many results as `runAll` yields. */
export interface RelationBuiltin extends BuiltinDecl {
  readonly relation: true;
  runAll(args: readonly Value[], ctx: BuiltinContext): Iterable<Value>;
}

export type Builtin = FunctionBuiltin | RelationBuiltin;

/**
 * Why a built-in has no result. `operand`: wrong kind of argument (eval_type_error);
 * `failure`: anything else (eval_builtin_error). Both make the expression undefined unless strict
 * errors were asked for. `halt` ends the evaluation in any mode.
 * The message leaves out the name of the built-in; the evaluator puts it in front.
 */
export class BuiltinError extends Error {
  readonly kind: "operand" | "failure" | "halt";

  constructor(kind: "operand" | "failure" | "halt", message: string) {
    super(message);
    this.name = "BuiltinError";
    this.kind = kind;
  }
}

// Parts of protobuf messages that are made once, or seldom. What is made for every call is written by `span-writer.ts`.
import type { Attributes } from "./tracing.ts";

export const varintSize = (value: number): number => {
  let size = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) size++;
  return size;
};

export function varint(value: number): Uint8Array {
  const bytes = new Uint8Array(varintSize(value));
  let rest = value;
  for (let at = 0; at < bytes.length; at++) {
    bytes[at] = (rest % 128) + (at < bytes.length - 1 ? 128 : 0);
    rest = Math.floor(rest / 128);
  }
  return bytes;
}

/** A field with a length: bytes, a text, a message. */
export const field = (number: number, bytes: Uint8Array): Uint8Array =>
  Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);

export const textField = (number: number, text: string): Uint8Array =>
  field(number, Buffer.from(text, "utf8"));

export const intField = (number: number, value: number): Uint8Array =>
  Buffer.concat([varint(number * 8), varint(value)]);

export const doubleField = (number: number, value: number): Uint8Array => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([varint(number * 8 + 1), bytes]);
};

export const fixed32Field = (number: number, value: number): Uint8Array => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return Buffer.concat([varint(number * 8 + 5), bytes]);
};

export const fixed64Field = (number: number, value: bigint): Uint8Array =>
  Buffer.concat([varint(number * 8 + 1), fixed64(value)]);

export function fixed64(value: bigint): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

/** A `KeyValue`, as the field of that number. */
export const attributeField = (
  number: number,
  name: string,
  value: Attributes[string],
): Uint8Array => field(number, Buffer.concat([textField(1, name), field(2, anyValue(value))]));

export const attributeFields = (number: number, attributes: Attributes): Uint8Array =>
  Buffer.concat(
    Object.entries(attributes).map(([name, value]) => attributeField(number, name, value)),
  );

function anyValue(value: Attributes[string]): Uint8Array {
  if (typeof value === "string") return textField(1, value);
  if (typeof value === "boolean") return intField(2, value ? 1 : 0);
  return Number.isSafeInteger(value) && value >= 0 ? intField(3, value) : doubleField(4, value);
}

/** What the items of a message have in common: where they come from. */
export interface SpanOrigin {
  readonly resource: Uint8Array;
  readonly scope: Uint8Array;
}

export const originOf = (
  attributes: Attributes,
  scope: { readonly name: string; readonly version: string },
): SpanOrigin => ({
  resource: field(1, attributeFields(1, attributes)),
  scope: field(1, Buffer.concat([textField(1, scope.name), textField(2, scope.version)])),
});

/**
 * What stands before the items of an export request, for traces and metrics alike:
 * request { 1: { 1: resource, 2: { 1: scope, 2: item, 2: item, … } } }
 */
export function headOf({ resource, scope }: SpanOrigin, itemBytes: number): Uint8Array {
  const inner = scope.length + itemBytes;
  const start = Buffer.concat([resource, Uint8Array.of(0x12), varint(inner)]);
  return Buffer.concat([Uint8Array.of(0x0a), varint(start.length + inner), start, scope]);
}

/** The head is never longer than this beside its resource and scope. */
export const HEAD_FRAME = 24;

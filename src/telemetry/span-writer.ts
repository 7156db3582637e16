// Spans as OTLP has them on the wire, written straight into the message. Every span of every call goes through here:
// parts that repeat are copied from where they were made once, and nothing is made that lives longer than the call.
import type { Trace } from "../contract/call.ts";
import type { Kind } from "./kinds.ts";
import { fixed32Field, fixed64, intField, textField, varintSize } from "./protobuf.ts";
import type { Attributes, Pairs } from "./tracing.ts";

/** An event, with the place of its time. */
export interface Stamped {
  readonly bytes: Uint8Array;
  readonly times: readonly number[];
}

export interface SpanStart {
  readonly name: string;
  readonly kind: Kind;
  readonly trace: Trace;
  /** The parent lives in another process. */
  readonly remote: boolean;
  /** In the time of `performance.now`, like all moments here. */
  readonly began: number;
  readonly ended: number;
}

/** Attributes that are nearly always those of the time before: written then, copied since. */
export interface Repeated {
  pairs: Pairs;
  bytes: Uint8Array;
}

export const nothingRepeated = (): Repeated => ({ pairs: [], bytes: new Uint8Array(0) });

/** What all spans of a name have in common, for `beginAs`. */
export const spanHead = (name: string, kind: Kind, remote: boolean): Uint8Array =>
  Buffer.concat([textField(5, name), intField(6, kind + 1), fixed32Field(16, flagsOf(remote))]);

const flagsOf = (remote: boolean): number => RECORDED | REMOTENESS_KNOWN | (remote ? REMOTE : 0);

const MAX_FREE = 4;
const TWO_32 = 4_294_967_296;
const SHORT_TEXT = 64;
const SHORT_KEY = 56;
const RECORDED = 0x01;
const REMOTENESS_KNOWN = 0x100;
const REMOTE = 0x200;

export class SpanWriter {
  readonly #headroom: number;
  readonly #capacity: number;
  readonly #keys = new Map<string, Uint8Array>();
  #free: SharedArrayBuffer[] = [];
  #bytes: Buffer<ArrayBuffer>;
  #view: DataView;
  #at: number;
  #start = 0;
  #count = 0;
  #isOpen = false;
  #baseHigh = 0;
  #baseLow = 0;

  /** Room for a head is kept before the spans. */
  constructor(capacity: number, headroom: number) {
    this.#capacity = capacity;
    this.#headroom = headroom;
    this.#at = headroom;
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
    this.#view = viewOf(this.#bytes);
  }

  get count(): number {
    return this.#count;
  }

  /** Bytes of finished spans. */
  get length(): number {
    return (this.#isOpen ? this.#start : this.#at) - this.#headroom;
  }

  /** Milliseconds from the steady clock to the wall clock. */
  follow(offsetMs: number): void {
    const base = Buffer.from(fixed64(BigInt(Math.round(offsetMs * 1000)) * 1000n));
    this.#baseLow = base.readUInt32LE(0);
    this.#baseHigh = base.readUInt32LE(4);
  }

  /**
   * The spans so far with a head before them; the next begin anew. They are written where this thread alone writes,
   * which is quicker than memory that another has just read. A long message goes in shared memory, and its receiver
   * gives that back with `recycle`: new memory costs more than all the writing.
   */
  take(head: Uint8Array): Uint8Array<ArrayBuffer> | Uint8Array<SharedArrayBuffer> {
    const from = this.#headroom - head.length;
    this.#bytes.set(head, from);
    const written = this.#bytes.subarray(from, this.#headroom + this.length);
    this.#at = this.#headroom;
    this.#isOpen = false;
    this.#count = 0;
    if (written.length * 2 < this.#capacity || written.length > this.#capacity)
      return new Uint8Array(written);
    const memory = this.#free.pop() ?? new SharedArrayBuffer(this.#capacity);
    const taken = new Uint8Array(memory, 0, written.length);
    taken.set(written);
    return taken;
  }

  recycle(memory: SharedArrayBuffer): void {
    const isKept = memory.byteLength === this.#capacity && this.#free.length < MAX_FREE;
    if (isKept) this.#free.push(memory);
  }

  begin({ name, kind, trace, remote, began, ended }: SpanStart): void {
    this.beginAs(spanHead(name, kind, remote), trace, began, ended);
  }

  /** The same for spans of which there are many: `head` is made once. */
  beginAs(head: Uint8Array, trace: Trace, began: number, ended: number): void {
    // A failure in the middle of a span loses that span, not the message.
    if (this.#isOpen) this.#at = this.#start;
    this.#isOpen = true;
    this.#ensure(128);
    const bytes = this.#bytes;
    this.#start = this.#at;
    bytes[this.#at] = 0x12;
    this.#at += 3; // the length is known at the end; two bytes are enough for nearly all
    this.#ids(0x0a, trace);
    if (trace.parentSpanId !== undefined) {
      this.#at = putHeader(bytes, this.#at, 0x22, 8);
      this.#hex(trace.parentSpanId);
    }
    const at = this.#at;
    bytes[at] = 0x39;
    this.#time(at + 1, began);
    bytes[at + 9] = 0x41;
    this.#time(at + 10, Math.max(began, ended));
    this.#at = at + 18;
    this.raw(head);
    if (trace.state !== undefined) this.raw(textField(3, trace.state));
  }

  /** Attributes, or events, made before. */
  raw(part: Uint8Array): void {
    this.#ensure(part.length);
    this.#bytes.set(part, this.#at);
    this.#at += part.length;
  }

  stamped({ bytes, times }: Stamped, moments: ArrayLike<number>): void {
    const from = this.#at;
    this.raw(bytes);
    for (let i = 0; i < times.length; i++) this.#time(from + (times[i] ?? 0), moments[i] ?? 0);
  }

  attribute(name: string, value: Attributes[string] | undefined): void {
    if (value === undefined) return;
    const key = this.#key(name);
    if (typeof value === "string") this.#textAttribute(key, value);
    else this.#plainAttribute(key, value);
  }

  attributes(attributes: Attributes): void {
    for (const name in attributes) this.attribute(name, attributes[name]);
  }

  pairs(pairs: Pairs): void {
    for (let i = 0; i < pairs.length; i += 2) this.attribute(pairs[i] as string, pairs[i + 1]);
  }

  repeated(before: Repeated, pairs: Pairs): void {
    if (isSame(before.pairs, pairs)) return this.raw(before.bytes);
    const from = this.#at;
    this.pairs(pairs);
    before.pairs = pairs;
    before.bytes = Uint8Array.from(this.#bytes.subarray(from, this.#at));
  }

  link(trace: Trace): void {
    this.#ensure(48);
    const state = trace.state === undefined ? null : textField(3, trace.state);
    const size = 33 + (state?.length ?? 0);
    this.#at = putHeader(this.#bytes, this.#at, 0x6a, 0);
    this.#at = putVarint(this.#bytes, this.#at - 1, size);
    this.#ids(0x0a, trace);
    if (state) this.raw(state);
    this.#ensure(5);
    this.#bytes[this.#at] = 0x35;
    this.#view.setUint32(this.#at + 1, flagsOf(true), true);
    this.#at += 5;
  }

  /** `error`: the span failed, with this text. It is the server's own; no message of a tool is sent here. */
  end(error?: string): void {
    if (error !== undefined) {
      const message = textField(2, error);
      this.#ensure(message.length + 8);
      this.#bytes[this.#at] = 0x7a;
      this.#at = putVarint(this.#bytes, this.#at + 1, message.length + 2);
      this.raw(message);
      this.#at = putHeader(this.#bytes, this.#at, 0x18, 2);
    }
    const length = this.#at - this.#start - 3;
    const size = varintSize(length);
    if (size !== 2) {
      this.#ensure(size);
      this.#bytes.copyWithin(this.#start + 1 + size, this.#start + 3, this.#at);
      this.#at += size - 2;
    }
    putVarint(this.#bytes, this.#start + 1, length);
    this.#isOpen = false;
    this.#count++;
  }

  #ids(tag: number, { traceId, spanId }: Trace): void {
    this.#at = putHeader(this.#bytes, this.#at, tag, 16);
    this.#hex(traceId);
    this.#at = putHeader(this.#bytes, this.#at, 0x12, 8);
    this.#hex(spanId);
  }

  #hex(text: string): void {
    const bytes = this.#bytes;
    let at = this.#at;
    for (let i = 0; i < text.length; i += 2)
      bytes[at++] = nibble(text.charCodeAt(i)) * 16 + nibble(text.charCodeAt(i + 1));
    this.#at = at;
  }

  /** Nanoseconds of the wall clock, exact: as one number they would not be. */
  #time(at: number, moment: number): void {
    const ns = Math.round(moment * 1e6);
    const high = Math.floor(ns / TWO_32);
    const low = this.#baseLow + (ns - high * TWO_32);
    const carry = low >= TWO_32 ? 1 : 0;
    this.#view.setUint32(at, low - carry * TWO_32, true);
    this.#view.setUint32(at + 4, this.#baseHigh + high + carry, true);
  }

  #textAttribute(key: Uint8Array, value: string): void {
    const length = value.length;
    if (length > SHORT_TEXT || key.length > SHORT_KEY) return this.#longAttribute(key, value);
    this.#ensure(SHORT_KEY + SHORT_TEXT + 8);
    const bytes = this.#bytes;
    let at = putHeader(bytes, this.#at, 0x4a, key.length + 4 + length);
    bytes.set(key, at);
    at = putHeader(bytes, at + key.length, 0x12, length + 2);
    at = putHeader(bytes, at, 0x0a, length);
    for (let i = 0; i < length; i++) {
      const code = value.charCodeAt(i);
      if (code > 127) return this.#longAttribute(key, value);
      bytes[at++] = code;
    }
    this.#at = at;
  }

  #longAttribute(key: Uint8Array, value: string): void {
    const text = textField(1, value);
    const size = key.length + 1 + varintSize(text.length) + text.length;
    this.#ensure(size + 8);
    this.#bytes[this.#at] = 0x4a;
    this.#at = putVarint(this.#bytes, this.#at + 1, size);
    this.raw(key);
    this.#bytes[this.#at] = 0x12;
    this.#at = putVarint(this.#bytes, this.#at + 1, text.length);
    this.raw(text);
  }

  #plainAttribute(key: Uint8Array, value: number | boolean): void {
    this.#ensure(key.length + 24);
    const bytes = this.#bytes;
    const isWhole = typeof value === "boolean" || (Number.isSafeInteger(value) && value >= 0);
    const size = isWhole ? varintSize(Number(value)) + 1 : 9;
    this.#bytes[this.#at] = 0x4a;
    this.#at = putVarint(bytes, this.#at + 1, key.length + 2 + size);
    this.raw(key);
    const at = putHeader(bytes, this.#at, 0x12, size);
    if (isWhole) {
      bytes[at] = typeof value === "boolean" ? 0x10 : 0x18;
      this.#at = putVarint(bytes, at + 1, Number(value));
    } else {
      bytes[at] = 0x21;
      this.#view.setFloat64(at + 1, Number(value), true);
      this.#at = at + 9;
    }
  }

  #key(name: string): Uint8Array {
    const known = this.#keys.get(name);
    if (known) return known;
    const key = textField(1, name);
    this.#keys.set(name, key); // names are ours, so there are few
    return key;
  }

  #ensure(more: number): void {
    if (this.#at + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow((this.#at + more) * 2);
    larger.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = larger;
    this.#view = viewOf(larger);
  }
}

const viewOf = ({ buffer, byteOffset, byteLength }: Buffer<ArrayBuffer>): DataView =>
  new DataView(buffer, byteOffset, byteLength);

const nibble = (code: number): number => (code < 58 ? code - 48 : code - 87);

/** Two bytes: a tag and a length or value below 128. */
function putHeader(bytes: Uint8Array, at: number, tag: number, value: number): number {
  bytes[at] = tag;
  bytes[at + 1] = value;
  return at + 2;
}

function putVarint(bytes: Uint8Array, from: number, value: number): number {
  let at = from;
  let rest = value;
  while (rest > 127) {
    bytes[at++] = (rest % 128) + 128;
    rest = Math.floor(rest / 128);
  }
  bytes[at] = rest;
  return at + 1;
}

function isSame(one: Pairs, other: Pairs): boolean {
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}

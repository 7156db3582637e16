// One line of a program as a message, or why it is none. Read as strictly as what comes in by the front door.
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../../contract/call.ts";
import { JsonFault, parseStrict } from "../../../util/json/json.ts";

export type RequestId = string | number;

export type ParsedLine =
  /** answers: the request that it ends; null: nobody asked for it. */
  | {
      readonly kind: "message";
      readonly message: JSONRPCMessage;
      readonly answers: RequestId | null;
    }
  /** An invalid message; id: the request it answers, if known. */
  | { readonly kind: "fault"; readonly id: RequestId | null; readonly why: string }
  /** A banner, a log line: no message at all. */
  | { readonly kind: "noise" };

const NOISE: ParsedLine = { kind: "noise" };
const BRACE = 123;
const SPACE = 32;

export function readMessage(line: Buffer): ParsedLine {
  let first = 0;
  while ((line[first] ?? SPACE + 1) <= SPACE) first++;
  if (line[first] !== BRACE) return NOISE;
  let value: JsonObject;
  try {
    value = parseStrict(line) as JsonObject;
  } catch (cause) {
    if (!(cause instanceof JsonFault)) throw cause;
    if (cause.kind === "ambiguous") return ambiguous(line, cause.message);
    if (!line.includes('"jsonrpc"')) return NOISE;
    return {
      kind: "fault",
      id: idIn(
        line.toString("latin1", 0, 512),
        line.toString("latin1", Math.max(0, line.length - 512)),
      ),
      why: "it is no valid JSON",
    };
  }
  if (value["jsonrpc"] !== "2.0") return NOISE;
  const id = idOf(value);
  if (typeof value["method"] === "string")
    return { kind: "message", message: value as unknown as JSONRPCMessage, answers: null };
  if ("result" in value || "error" in value)
    return { kind: "message", message: value as unknown as JSONRPCMessage, answers: id };
  return { kind: "fault", id, why: "it has neither method nor result nor error" };
}

/** JSON that two readers could read differently: only whom it was for is taken from it. */
function ambiguous(line: Buffer, why: string): ParsedLine {
  const value = JSON.parse(line.toString("utf8")) as JsonObject;
  if (value["jsonrpc"] !== "2.0") return NOISE;
  return { kind: "fault", id: "method" in value ? null : idOf(value), why };
}

function idOf({ id }: JsonObject): RequestId | null {
  return typeof id === "string" || typeof id === "number" ? id : null;
}

const ID = String.raw`"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,100}")\s*`;
/** Before anything nested: nothing but flat members. */
const HEAD = new RegExp(String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?${ID},`);
/** The last brace closes the message, so that the member before it is the message's own. */
const TAIL = new RegExp(String.raw`[,{]\s*${ID}(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`);

/** The id of an answer of which only both ends are known; null: it is a request, or unknown. */
export function idIn(head: string, tail: string): RequestId | null {
  const found = HEAD.exec(head)?.[1] ?? TAIL.exec(tail)?.[1];
  if (found === undefined || /^[^{]*\{[^{[]*"method"/.test(head)) return null;
  return JSON.parse(found) as RequestId;
}

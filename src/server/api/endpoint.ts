// What an endpoint is: data. tRPC, REST and OpenAPI are renderings of the same definition.
import { z } from "zod";
import type { Caller, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { LiveEvent } from "../../core/record/live.ts";
import type { RequestSpan } from "../../telemetry/tracing.ts";
import type { RequestContext } from "../doors.ts";
import { faultsOf } from "./faults.ts";

export interface ApiContext extends RequestContext {
  readonly entry: "rest" | "trpc";
  /** What the answer carries beyond its body. */
  readonly reply: Reply;
  readonly span: RequestSpan;
  /** Of a stream: the caller as they are now, however long it lasts. */
  readonly callerNow?: (() => Caller) | undefined;
}

export interface Reply {
  status?: 200 | 201 | 202;
  readonly headers: Record<string, string>;
}

interface Common<I extends z.ZodObject> {
  /** `<noun>.<verb>`: the tRPC path; the last part is the operationId. */
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below /api/v1, with `{param}` segments named like the input fields they fill. */
  readonly path: `/${string}`;
  readonly access: "caller" | "admin";
  readonly summary: string;
  /** Answered although the month's requests are used up: what shows that, and what ends it. */
  readonly evenWhenUsedUp?: true;
  readonly input: I;
  /** For path parameters that are not input fields by themselves. */
  readonly fromPath?: (params: Record<string, string>) => Record<string, string>;
  /** Header (lower case) to input field. */
  readonly fromHeaders?: Readonly<Record<string, string>>;
}

export interface Endpoint<
  I extends z.ZodObject = z.ZodObject,
  O extends z.ZodType = z.ZodType,
> extends Common<I> {
  readonly output: O;
  /** Statuses of success; the first is the usual one. */
  readonly statuses: readonly (200 | 201 | 202)[];
  run(input: z.output<I>, context: ApiContext): Promise<z.input<O>> | z.input<O>;
}

/** Answers with server-sent events; offered over REST only. */
export interface EventEndpoint<I extends z.ZodObject = z.ZodObject> extends Common<I> {
  readonly method: "GET";
  stream(input: z.output<I>, context: ApiContext): AsyncIterable<LiveEvent>;
}

/** Answers with a file that is made while it is sent; offered over REST only. */
export interface DownloadEndpoint<I extends z.ZodObject = z.ZodObject> extends Common<I> {
  readonly method: "GET";
  readonly contentType: string;
  download(
    input: z.output<I>,
    context: ApiContext,
  ): Promise<{
    readonly headers: Record<string, string>;
    readonly body: AsyncIterable<Uint8Array>;
  }>;
}

export type AnyEndpoint = Endpoint | EventEndpoint | DownloadEndpoint;

export function endpoint<I extends z.ZodObject, O extends z.ZodType>(
  e: Omit<Endpoint<I, O>, "statuses"> & { statuses?: Endpoint["statuses"] },
): Endpoint<I, O> {
  return { statuses: [200], ...e };
}

export function eventEndpoint<I extends z.ZodObject>(e: EventEndpoint<I>): EventEndpoint<I> {
  return e;
}

export function downloadEndpoint<I extends z.ZodObject>(
  e: DownloadEndpoint<I>,
): DownloadEndpoint<I> {
  return e;
}

/** Validates what came over the wire; every faulty field is named. */
export function parseInput<I extends z.ZodObject>(
  e: { readonly input: I } & Partial<Pick<Common<I>, "method" | "path">>,
  raw: unknown,
): z.output<I> {
  const value = raw === undefined ? {} : raw;
  const odd = oddText(e, value);
  if (odd) throw invalidInput([odd]);
  const parsed = e.input.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalidInput(faultsOf(parsed.error.issues, value, schemaOf(e.input, "input")));
}

/** Data of others, handed on and recorded as JSON, which knows every character. */
const FREE_DATA = new Set(["arguments", "input", "equals", "metadata", "content"]);
const CONTROL = /\p{Cc}/u;

/**
 * The first text that no database gives back as it was: with a NUL or half a character. What names or looks for
 * something (all that comes by a path or a query) is one line of visible text besides.
 */
function oddText(
  { method, path }: Partial<Pick<Common<z.ZodObject>, "method" | "path">>,
  value: unknown,
): { path: string; message: string; suggestion: string } | null {
  const isLookup = method === "GET" || method === "DELETE";
  const fault = (text: string, isOneLine: boolean): string | null => {
    if (!text.isWellFormed()) return "holds half a character (a lone surrogate)";
    if (text.includes("\0")) return "holds a NUL character";
    return isOneLine && CONTROL.test(text) ? "holds a control character" : null;
  };
  const visit = (at: string, inside: unknown, isOneLine: boolean): ReturnType<typeof oddText> => {
    if (typeof inside === "string") {
      const message = fault(inside, isOneLine);
      return message === null ? null : { path: at, message, suggestion: "leave it out" };
    }
    if (typeof inside !== "object" || inside === null) return null;
    for (const [name, one] of Object.entries(inside)) {
      if (FREE_DATA.has(name) && !Array.isArray(inside)) continue;
      const message = fault(name, false);
      if (message !== null)
        return { path: at, message: `a key ${message}`, suggestion: "leave it out" };
      const isNamed = at === "" && path?.includes(`{${name}}`) === true;
      const found = visit(`${at}/${name}`, one, isOneLine || isNamed);
      if (found) return found;
    }
    return null;
  };
  return visit("", value, isLookup);
}

export function invalidInput(
  errors: readonly { path: string; message: string; suggestion?: string }[],
): AppError {
  const [first] = errors;
  const text = first ? `${first.path || "/"}: ${first.message}` : "not an object";
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return new AppError("BAD_REQUEST", "invalid_input", `Input validation failed: ${text}${more}`, {
    remedy: first?.suggestion ?? "correct the fields listed in errors and send the request again",
    errors,
  });
}

/** A fault of a single field found after validation. */
export function fieldFault(path: string, message: string, suggestion?: string): AppError {
  return invalidInput([{ path, message, ...(suggestion === undefined ? {} : { suggestion }) }]);
}

const schemas = {
  input: new WeakMap<z.ZodType, JsonObject>(),
  output: new WeakMap<z.ZodType, JsonObject>(),
};

/** JSON Schema 2020-12 of a zod schema, made once. */
export function schemaOf(schema: z.ZodType, io: "input" | "output"): JsonObject {
  const known = schemas[io].get(schema);
  if (known) return known;
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, target: "draft-2020-12" });
  schemas[io].set(schema, json as JsonObject);
  return json as JsonObject;
}

// The same lines as CloudEvents 1.0: every fact is in its attributes, so that the ledger's own line can be made again.
// CloudEvents has no integers beyond 31 bits, so such numbers are text.
import { NO_HASH } from "../../util/record/ledger-line.ts";
import { LineFault, parseLine, textOf, type ParsedLine } from "./parse.ts";

interface CloudEvent {
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject?: string;
  readonly time: string;
  /** Lower-case names, text alone, in this order. */
  readonly extensions: readonly (readonly [name: string, value: string])[];
  /** JSON text. */
  readonly data: string;
}

const PREFIX = "ostiary.";

function write({ id, source, type, subject, time, extensions, data }: CloudEvent): string {
  const attributes = [
    ["id", id],
    ["source", source],
    ["type", type],
    ...(subject === undefined ? [] : [["subject", subject]]),
    ["time", time],
    ["datacontenttype", "application/json"],
    ...extensions,
  ];
  return `{"specversion":"1.0",${attributes.map(([name, value]) => `"${name}":${JSON.stringify(value)}`).join(",")},"data":${data}}`;
}

const sourceOf = (instanceId: string): string => `/ostiary/${encodeURIComponent(instanceId)}`;

/** A line of the ledger as a CloudEvent. */
export function toCloudEvent(line: string): string {
  return write(cloudEventOf(parseLine(Buffer.from(line))));
}

function cloudEventOf(parsed: ParsedLine): CloudEvent {
  switch (parsed.kind) {
    case "event": {
      const { seq, tenantId, instanceId, n, prevHash, hash, at, action, actor, executionId, body } =
        parsed.event;
      return {
        id: `${instanceId}:${tenantId}:${n}`,
        source: sourceOf(instanceId),
        type: PREFIX + action,
        ...(executionId === null ? {} : { subject: executionId }),
        time: timeOf(at),
        extensions: [
          ["atms", String(at)],
          ["seq", String(seq)],
          ["tenantid", tenantId],
          ["instanceid", instanceId],
          ["n", String(n)],
          ["prevhash", prevHash],
          ["actor", actor],
          ["hash", hash],
        ],
        data: body,
      };
    }
    case "old": {
      const { seq, tenantId, at, action, actor, executionId, body } = parsed.event;
      return {
        id: `log:${seq}`,
        source: "/ostiary",
        type: PREFIX + action,
        ...(executionId === null ? {} : { subject: executionId }),
        time: timeOf(at),
        extensions: [
          ["atms", String(at)],
          ["seq", String(seq)],
          ["tenantid", tenantId],
          ["actor", actor],
        ],
        data: body,
      };
    }
    case "checkpoint": {
      const { instanceId, n, at } = parsed.checkpoint;
      return {
        id: `${instanceId}:checkpoint:${n}`,
        source: sourceOf(instanceId),
        type: `${PREFIX}checkpoint`,
        time: timeOf(at),
        extensions: [],
        data: parsed.line,
      };
    }
    case "manifest": {
      const { instanceId, from, to, at } = parsed.manifest;
      return {
        id: `${instanceId}:export:${from}-${to}`,
        source: sourceOf(instanceId),
        type: `${PREFIX}export`,
        time: timeOf(at),
        extensions: [],
        data: parsed.line,
      };
    }
  }
}

/** Clocks may be wrong by any amount; a time that CloudEvents cannot hold is still exact in `atms`. */
function timeOf(at: number): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? new Date(0).toISOString() : time.toISOString();
}

/** The ledger's own line from a CloudEvent; refuses one that we would have written differently. */
export function fromCloudEvent(bytes: Uint8Array): ParsedLine {
  const text = textOf(bytes);
  const marker = dataAt(text);
  const inner = lineOf(text, marker);
  const parsed = parseLine(Buffer.from(inner));
  if (write(cloudEventOf(parsed)) !== text)
    throw new LineFault(
      "it is not an exact CloudEvent: an attribute, its place or its spelling differs",
    );
  return parsed;
}

export const isCloudEvent = (bytes: Uint8Array): boolean =>
  Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 20))
    .toString("latin1")
    .startsWith('{"specversion":"1.0"');

/** Where the attributes end; they hold only text. */
function dataAt(text: string): number {
  const head = /^\{(?:"[a-z]+":"(?:[^"\\]|\\.)*",)+"data":/.exec(text);
  if (!head || !text.endsWith("}")) throw new LineFault("it is no CloudEvent of ours");
  return head[0].length;
}

function lineOf(text: string, start: number): string {
  const data = text.slice(start, -1);
  const attributes = attributesOf(`${text.slice(0, start)}null}`);
  const type = attributes["type"] ?? "";
  if (type === `${PREFIX}checkpoint` || type === `${PREFIX}export`) return data;
  const { seq, tenantid, instanceid, n, prevhash, hash, atms, actor, subject } = attributes;
  const facts = `"at":${atms},"action":"${type.slice(PREFIX.length)}","actor":${JSON.stringify(actor)},"executionId":${JSON.stringify(subject ?? null)},"body":${data}`;
  if (hash === undefined)
    return `{"v":0,"seq":${seq},"tenantId":${JSON.stringify(tenantid)},${facts}}`;
  return `{"v":1,"seq":${seq},"tenantId":${JSON.stringify(tenantid)},"instanceId":${JSON.stringify(instanceid)},"n":${n},"prevHash":"${prevhash ?? NO_HASH}",${facts},"hash":"${hash}"}`;
}

function attributesOf(json: string): Record<string, string | undefined> {
  try {
    return JSON.parse(json) as Record<string, string | undefined>;
  } catch {
    throw new LineFault("it is not JSON");
  }
}

// Ways to change an export that must not go unnoticed. Each answers null where it cannot be applied to this one.
import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { fromCloudEvent, isCloudEvent, toCloudEvent } from "../../src/storage/ledger/cloud.ts";
import type { LedgerKey } from "../../src/storage/ledger/key.ts";
import {
  checkpointText,
  lineHash,
  manifestText,
  signLine,
  type Checkpoint,
  type Manifest,
} from "../../src/storage/ledger/lines.ts";
import { parseLine, type ParsedLine } from "../../src/storage/ledger/parse.ts";
import {
  ledgerHash,
  ledgerText,
  withHash,
  type LedgerEvent,
} from "../../src/util/record/ledger-line.ts";

export interface Means {
  /** 0 ≤ x < 1, with a seed. */
  readonly random: () => number;
  readonly stranger: LedgerKey;
  /** Another export of the same server. */
  readonly other: Buffer;
}

export type Mutation = (original: Buffer, means: Means) => Buffer | null;

const pick = (random: () => number, length: number): number => Math.floor(random() * length);
const linesOf = (bytes: Buffer): string[] => bytes.toString("utf8").split("\n").slice(0, -1);
const join = (lines: readonly string[]): Buffer =>
  Buffer.from(lines.map((line) => `${line}\n`).join(""));
const parsed = (line: string): ParsedLine => {
  const bytes = Buffer.from(line);
  return isCloudEvent(bytes) ? fromCloudEvent(bytes) : parseLine(bytes);
};
/** In the form that this export has. */
const written = (lines: readonly string[], line: string): string =>
  isCloudEvent(Buffer.from(lines[0] ?? "")) ? toCloudEvent(line) : line;
const placesOf = (lines: readonly string[], kind: ParsedLine["kind"]): number[] =>
  lines.flatMap((line, index) => (parsed(line).kind === kind ? [index] : []));

/** A byte of a line of this kind becomes another. */
const flipIn =
  (kind: ParsedLine["kind"]): Mutation =>
  (original, { random }) => {
    const lines = linesOf(original);
    const places = placesOf(lines, kind);
    const place = places[pick(random, places.length)];
    if (place === undefined) return null;
    const start = Buffer.byteLength(
      lines
        .slice(0, place)
        .map((line) => `${line}\n`)
        .join(""),
    );
    return flipAt(original, start + pick(random, Buffer.byteLength(lines[place] ?? "")), random);
  };

function flipAt(original: Buffer, at: number, random: () => number): Buffer {
  const changed = Buffer.from(original);
  const byte = changed[at] ?? 0;
  changed[at] = random() < 0.5 ? byte ^ (1 << pick(random, 8)) : pick(random, 256);
  return changed;
}

/** The value of one fact of an event, and nothing else of the line. */
const editEvent = (event: LedgerEvent, random: () => number): LedgerEvent => {
  const edits: ((e: LedgerEvent) => LedgerEvent)[] = [
    (e) => ({ ...e, actor: `${e.actor}x` }),
    (e) => ({ ...e, at: e.at + 1 }),
    (e) => ({
      ...e,
      action:
        "tool.execution.denied" === e.action ? "tool.execution.complete" : "tool.execution.denied",
    }),
    (e) => ({ ...e, executionId: e.executionId === null ? "exec_1" : null }),
    (e) => ({ ...e, body: JSON.stringify({ ...(JSON.parse(e.body) as object), forged: true }) }),
  ];
  return edits[pick(random, edits.length)]?.(event) ?? event;
};

const events = (lines: readonly string[]) =>
  placesOf(lines, "event").map((place) => {
    const line = parsed(lines[place] ?? "");
    if (line.kind !== "event") throw new Error("not an event");
    return { place, event: line.event };
  });

const rehashed = (event: LedgerEvent): string => {
  const text = ledgerText(event);
  return withHash(text, ledgerHash(text));
};

/** An event is changed, and everything after it in its chain is hashed anew. */
function forgeChain(lines: string[], random: () => number): string[] | null {
  const all = events(lines);
  const chosen = all[pick(random, all.length)];
  if (!chosen) return null;
  const { tenantId, instanceId, n } = chosen.event;
  let prevHash: string | null = null;
  for (const { place, event } of all) {
    if (event.tenantId !== tenantId || event.instanceId !== instanceId || event.n < n) continue;
    const { recounted: _, hash: _hash, ...facts } = event;
    const next = prevHash === null ? editEvent(facts, random) : { ...facts, prevHash };
    const line = rehashed(next);
    prevHash = line.slice(-66, -2);
    lines[place] = written(lines, line);
  }
  return lines;
}

/** Everything that is signed, made true again for what stands there, and signed by somebody else. */
function resign(lines: string[], key: LedgerKey): string[] {
  const heads = new Map<string, { n: number; seq: number; hash: string }>();
  const last = new Map<string, string>();
  const spans = new Map<string, Manifest["chains"][number]>();
  for (const [place, line] of lines.entries()) {
    const each = parsed(line);
    if (each.kind === "event") {
      const { tenantId, instanceId, n, seq, hash, prevHash } = each.event;
      const chain = JSON.stringify([tenantId, instanceId]);
      heads.set(chain, { n, seq, hash });
      const span = spans.get(chain);
      spans.set(chain, {
        tenantId,
        instanceId,
        first: span?.first ?? { n, prevHash },
        last: { n, hash },
        count: (span?.count ?? 0) + 1,
      });
    } else if (each.kind === "checkpoint") {
      const { checkpoint: c } = each;
      const before = last.get(c.instanceId);
      const chains = c.chains.map((head) => ({
        ...head,
        ...heads.get(JSON.stringify([head.tenantId, c.instanceId])),
      }));
      const next: Checkpoint = {
        ...c,
        chains,
        prevHash: before === undefined ? c.prevHash : lineHash(before),
      };
      const signed = signLine(checkpointText(next, key), key);
      last.set(c.instanceId, signed);
      lines[place] = written(lines, signed);
    }
  }
  return sealed(lines, key, [...spans.values()]);
}

function sealed(lines: string[], key: LedgerKey, chains?: Manifest["chains"]): string[] {
  const first = parsed(lines[0] ?? "");
  if (first.kind !== "manifest") throw new Error("no manifest");
  const digest = createHash("sha256")
    .update(join(lines.slice(1)))
    .digest("hex");
  const sorted = (chains ?? first.manifest.chains).toSorted((a, b) =>
    a.tenantId + a.instanceId < b.tenantId + b.instanceId ? -1 : 1,
  );
  lines[0] = written(
    lines,
    signLine(manifestText({ ...first.manifest, chains: sorted, digest }, key), key),
  );
  return lines;
}

const atLine =
  (
    kind: ParsedLine["kind"] | "any",
    change: (lines: string[], place: number, means: Means) => string[] | null,
  ): Mutation =>
  (original, means) => {
    const lines = linesOf(original);
    const places = kind === "any" ? lines.map((_, index) => index) : placesOf(lines, kind);
    const place = places[pick(means.random, places.length)];
    const changed = place === undefined ? null : change(lines, place, means);
    return changed && join(changed);
  };

/** Those with `pinned` are found by whoever knows the key of the server. */
export const MUTATIONS: Readonly<
  Record<string, { readonly mutate: Mutation; readonly pinned?: true }>
> = {
  "a byte of an event": { mutate: flipIn("event") },
  "a byte of a checkpoint": { mutate: flipIn("checkpoint") },
  "a byte of the manifest": { mutate: flipIn("manifest") },
  "a byte anywhere": {
    mutate: (original, { random }) => flipAt(original, pick(random, original.length), random),
  },
  "a line's end": {
    mutate: (original, { random }) => {
      const ends = [...original.entries()].filter(([, byte]) => byte === 0x0a);
      return flipAt(original, ends[pick(random, ends.length)]?.[0] ?? 0, random);
    },
  },
  "a byte put in": {
    mutate: (original, { random }) => {
      const at = pick(random, original.length + 1);
      return Buffer.concat([
        original.subarray(0, at),
        Buffer.from([pick(random, 256)]),
        original.subarray(at),
      ]);
    },
  },
  "a byte taken out": {
    mutate: (original, { random }) => {
      const at = pick(random, original.length);
      return Buffer.concat([original.subarray(0, at), original.subarray(at + 1)]);
    },
  },
  "an event dropped": { mutate: atLine("event", (lines, place) => lines.toSpliced(place, 1)) },
  "a checkpoint dropped": {
    mutate: atLine("checkpoint", (lines, place) => lines.toSpliced(place, 1)),
  },
  "two lines swapped": {
    mutate: atLine("any", (lines, place, { random }) => {
      const other = pick(random, lines.length);
      return lines.with(place, lines[other] ?? "").with(other, lines[place] ?? "");
    }),
  },
  "two neighbours swapped": {
    mutate: atLine("any", (lines, place) =>
      place === 0
        ? null
        : lines.with(place, lines[place - 1] ?? "").with(place - 1, lines[place] ?? ""),
    ),
  },
  "a line doubled": {
    mutate: atLine("any", (lines, place) => lines.toSpliced(place, 0, lines[place] ?? "")),
  },
  "a blank line": { mutate: atLine("any", (lines, place) => lines.toSpliced(place, 0, "")) },
  "an extra key": {
    mutate: atLine("any", (lines, place) =>
      lines.with(place, `${(lines[place] ?? "").slice(0, -1)},"extra":1}`),
    ),
  },
  "the end cut at any byte": {
    mutate: (original, { random }) => original.subarray(0, pick(random, original.length)),
  },
  "the end cut at a line": { mutate: atLine("any", (lines, place) => lines.slice(0, place)) },
  "the end of the last line": { mutate: (original) => original.subarray(0, -1) },
  "the head cut": {
    mutate: atLine("any", (lines, place) => (place === 0 ? null : lines.slice(place))),
  },
  "the head cut after the manifest": {
    mutate: atLine("event", (lines, place) => [lines[0] ?? "", ...lines.slice(place + 1)]),
  },
  "something added": {
    mutate: (original, { random }) =>
      Buffer.concat([
        original,
        Buffer.from(["\n", "{}\n", "x", "\0", '{"v":1}\n'][pick(random, 5)] ?? "x"),
      ]),
  },
  "checkpoints reordered": {
    mutate: (original, { random }) => {
      const lines = linesOf(original);
      const places = placesOf(lines, "checkpoint");
      const [a, b] = [places[pick(random, places.length)], places[pick(random, places.length)]];
      return a === undefined || b === undefined
        ? null
        : join(lines.with(a, lines[b] ?? "").with(b, lines[a] ?? ""));
    },
  },
  "a checkpoint of another export": {
    mutate: atLine("checkpoint", (lines, place, { other, random }) => {
      const theirs = linesOf(other);
      const places = placesOf(theirs, "checkpoint");
      const line = parsed(theirs[places[pick(random, places.length)] ?? 0] ?? "");
      return line.kind === "checkpoint" ? lines.with(place, written(lines, line.line)) : null;
    }),
  },
  "the manifest of another export": {
    mutate: (original, { other }) => {
      const line = parsed(linesOf(other)[0] ?? "");
      const lines = linesOf(original);
      return line.kind === "manifest" ? join(lines.with(0, written(lines, line.line))) : null;
    },
  },
  "a checkpoint signed by a stranger": {
    mutate: atLine("checkpoint", (lines, place, { stranger }) => {
      const line = parsed(lines[place] ?? "");
      return line.kind === "checkpoint"
        ? lines.with(
            place,
            written(lines, signLine(checkpointText(line.checkpoint, stranger), stranger)),
          )
        : null;
    }),
  },
  "the manifest signed by a stranger": {
    pinned: true,
    mutate: (original, { stranger }) => join(sealed(linesOf(original), stranger)),
  },
  "everything signed by a stranger": {
    pinned: true,
    mutate: (original, { stranger }) => join(resign(linesOf(original), stranger)),
  },
  "an event edited and hashed": {
    mutate: atLine("event", (lines, place, { random }) => {
      const line = parsed(lines[place] ?? "");
      if (line.kind !== "event") return null;
      const { recounted: _, hash: _hash, ...facts } = line.event;
      return lines.with(place, written(lines, rehashed(editEvent(facts, random))));
    }),
  },
  "a chain hashed anew": {
    mutate: (original, { random }) => {
      const forged = forgeChain(linesOf(original), random);
      return forged && join(forged);
    },
  },
  "a chain hashed anew, all signed by a stranger": {
    pinned: true,
    mutate: (original, { random, stranger }) => {
      const forged = forgeChain(linesOf(original), random);
      return forged && join(resign(forged, stranger));
    },
  },
  "a byte of the packed file": {
    mutate: (original, { random }) => {
      const packed = flipAt(gzipSync(original), pick(random, gzipSync(original).length), random);
      try {
        // Some bytes of the wrapping say nothing about the content.
        return gunzipSync(packed).equals(original) ? null : packed;
      } catch {
        return packed;
      }
    },
  },
};

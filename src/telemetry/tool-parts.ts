// Parts of spans that calls of the same tool share, kept as they go over the wire.
import type { Call } from "../contract/call.ts";
import { eventOf } from "./events.ts";
import { KIND } from "./kinds.ts";
import { ATTR, EVENT, EXECUTE_TOOL, SPAN } from "./names.ts";
import { attributeFields } from "./protobuf.ts";
import { spanHead, type Stamped } from "./span-writer.ts";
import type { Attributes } from "./tracing.ts";

const SPAN_ATTRIBUTES = 9;
/** Quick calls take few milliseconds: as many ends of a call are kept as there are likely ones. */
const LIKELY_MS = 1_000;

type CalledTool = NonNullable<Call["tool"]>;

interface Called {
  readonly tenantId: string;
  readonly via: string;
  readonly entry: string;
  readonly mode: string;
  readonly policyVersion: string;
  readonly head: Uint8Array;
}

export class ToolParts {
  /** The last kind of call of each tool: the next is nearly always of the same. */
  readonly #calls = new WeakMap<CalledTool, Called>();
  readonly #runs = new WeakMap<CalledTool, Uint8Array>();
  readonly #completed: Stamped[] = [];

  /** The head of `exec_tool`. */
  call(call: Call, mode: string, policyVersion: string): Uint8Array {
    const { tool, entry } = call;
    const { tenantId, via } = call.caller;
    const known = tool === null ? undefined : this.#calls.get(tool);
    if (
      known &&
      known.tenantId === tenantId &&
      known.via === via &&
      known.entry === entry &&
      known.mode === mode &&
      known.policyVersion === policyVersion
    )
      return known.head;
    const head = headWith(SPAN.execTool, aboutCall(call, mode, policyVersion));
    if (tool !== null) this.#calls.set(tool, { tenantId, via, entry, mode, policyVersion, head });
    return head;
  }

  /** The head of `execute_tool`. */
  run(tool: CalledTool): Uint8Array {
    const known = this.#runs.get(tool);
    if (known) return known;
    const about = {
      [ATTR.operation]: EXECUTE_TOOL,
      [ATTR.toolName]: tool.name,
      [ATTR.toolType]: "function",
    };
    const head = headWith(SPAN.executeTool(tool.name), about);
    this.#runs.set(tool, head);
    return head;
  }

  completed(latencyMs: number): Stamped {
    const isLikely = Number.isInteger(latencyMs) && latencyMs >= 0 && latencyMs < LIKELY_MS;
    const known = isLikely ? this.#completed[latencyMs] : undefined;
    if (known) return known;
    const made = eventOf(EVENT.completed, { [ATTR.success]: true, [ATTR.latency]: latencyMs });
    if (isLikely) this.#completed[latencyMs] = made;
    return made;
  }
}

const headWith = (name: string, attributes: Attributes): Uint8Array =>
  Buffer.concat([
    spanHead(name, KIND.internal, false),
    attributeFields(SPAN_ATTRIBUTES, attributes),
  ]);

/** What is the same in all calls of a tool by the same kind of caller. */
const aboutCall = (
  { caller, tool, entry }: Call,
  mode: string,
  policyVersion: string,
): Attributes => ({
  [ATTR.operation]: EXECUTE_TOOL,
  // A name that no tool has is not sent: it is arbitrary text of the client.
  ...(tool === null ? {} : { [ATTR.toolName]: tool.name, [ATTR.toolPin]: tool.pin }),
  [ATTR.tenant]: caller.tenantId,
  [ATTR.callerKind]: caller.via,
  [ATTR.entry]: entry,
  [ATTR.mode]: mode,
  [ATTR.policyVersion]: policyVersion,
});

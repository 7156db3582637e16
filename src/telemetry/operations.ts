// What requests of MCP have in common: one entry for each method, and for each tool that is called.
import type { Durations, DurationSeries } from "./durations.ts";
import { KIND } from "./kinds.ts";
import { ATTR, EXECUTE_TOOL, SPAN } from "./names.ts";
import { attributeFields } from "./protobuf.ts";
import { nothingRepeated, spanHead } from "./span-writer.ts";
import type { Attributes, McpOperation } from "./tracing.ts";

const SPAN_ATTRIBUTES = 9;
const MAX_KNOWN = 8_192;

export class Operation {
  /** Of its spans. */
  readonly head: Uint8Array;
  /** The attributes of the last request, and what they were made from. */
  readonly request = nothingRepeated();
  readonly answer = nothingRepeated();
  readonly #labels: Attributes;
  readonly #durations: Durations;
  #succeeded: DurationSeries | null = null;

  constructor({ method, target, transport }: McpOperation, durations: Durations) {
    this.#durations = durations;
    this.#labels = {
      [ATTR.mcpMethod]: method,
      [ATTR.transport]: transport,
      ...(method === "tools/call" ? { [ATTR.operation]: EXECUTE_TOOL } : {}),
      ...(target === null ? {} : { [ATTR.toolName]: target }),
    };
    const name = spanHead(SPAN.mcp(method, target), KIND.server, true);
    this.head = Buffer.concat([name, attributeFields(SPAN_ATTRIBUTES, this.#labels)]);
  }

  took(seconds: number, error: string | null): void {
    const series =
      error === null
        ? (this.#succeeded ??= this.#durations.series("server", this.#labels))
        : this.#durations.series("server", { ...this.#labels, [ATTR.errorType]: error });
    this.#durations.count(series, seconds);
  }
}

const noneKnown = () => ({
  methods: new Map<string, Operation>(),
  tools: new Map<string, Operation>(),
});

export class Operations {
  readonly #known = { tcp: noneKnown(), pipe: noneKnown() };
  readonly #durations: Durations;

  constructor(durations: Durations) {
    this.#durations = durations;
  }

  /** Only `tools/call` has a target. */
  of(asked: McpOperation): Operation {
    const { methods, tools } = this.#known[asked.transport];
    const [all, key] = asked.target === null ? [methods, asked.method] : [tools, asked.target];
    const known = all.get(key);
    if (known) return known;
    if (all.size >= MAX_KNOWN) all.clear();
    const made = new Operation(asked, this.#durations);
    all.set(key, made);
    return made;
  }
}

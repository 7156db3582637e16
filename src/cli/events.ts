/** One server-sent event. */
export interface ServerEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/**
 * The events of a stream as they come, after one called `open` with the first byte: from then on nothing is missed.
 * Comments are heartbeats and say nothing.
 */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  let opened = false;
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    if (!opened) yield { id: "", event: "open", data: "{}" };
    opened = true;
    rest += decoder.decode(chunk, { stream: true });
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event) yield event;
    }
  }
}

function parseEvent(block: string): ServerEvent | null {
  const event = { id: "", event: "message", data: "" };
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, name, value = ""] = /^(\w+):? ?(.*)$/.exec(line) ?? [];
    if (name === "data") data.push(value);
    else if (name === "id" || name === "event") event[name] = value;
  }
  return data.length === 0 ? null : { ...event, data: data.join("\n") };
}

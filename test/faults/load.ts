// Callers that go on until the server is gone, and remember exactly what they were told.
import type { Answer, FaultServer } from "./server.ts";

/** What a caller knows about one of its calls. Every call carries a token of its own in its arguments. */
export interface Told {
  readonly token: string;
  readonly kind: Kind;
  /** Null: no answer came. */
  readonly executionId: string | null;
  /** The terminal status that was answered; null when the answer only said that it had started. */
  readonly status: string | null;
  readonly result: unknown;
}

type Kind = "echo over MCP" | "write over MCP" | "write over REST" | "not waited for";

export interface Load {
  readonly told: readonly Told[];
  acknowledged(): number;
  /** Resolves when the last caller has given up. */
  readonly done: Promise<void>;
}

const CALLERS: readonly Kind[] = [
  "echo over MCP",
  "echo over MCP",
  "echo over MCP",
  "echo over MCP",
  "write over MCP",
  "write over MCP",
  "write over REST",
  "write over REST",
  "write over REST",
  "not waited for",
  "not waited for",
  "not waited for",
];
const MAX_CALLS_PER_CALLER = 500;

export function startLoad(server: FaultServer, round: number): Load {
  const told: Told[] = [];
  const caller = async (kind: Kind, number: number): Promise<void> => {
    for (let call = 0; call < MAX_CALLS_PER_CALLER; call++) {
      const token = `round-${round}-caller-${number}-call-${call}`;
      try {
        const answer = await CALLS[kind](server, token);
        told.push({ token, kind, ...answer });
      } catch {
        // The connection broke: nobody knows what became of this one.
        told.push({ token, kind, executionId: null, status: null, result: null });
        return;
      }
    }
  };
  return {
    told,
    acknowledged: () => told.filter((one) => one.executionId !== null).length,
    done: Promise.all(CALLERS.map(caller)).then(() => undefined),
  };
}

type Heard = Pick<Told, "executionId" | "status" | "result">;

const CALLS: Record<Kind, (server: FaultServer, token: string) => Promise<Heard>> = {
  "echo over MCP": async (server, token) =>
    overMcp(await server.mcp("system_echo", { text: token })),
  "write over MCP": async (server, token) =>
    overMcp(await server.mcp("memory_store", { key: token, value: token })),
  async "write over REST"(server, token) {
    const { status, body } = await server.api("POST", "/executions", {
      name: "memory/store",
      arguments: { key: token, value: token },
    });
    if (status !== 200) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
    return {
      executionId: text(body["executionId"]),
      status: text(body["status"]),
      result: body["result"],
    };
  },
  async "not waited for"(server, token) {
    const { status, body } = await server.api("POST", "/executions", {
      name: token.endsWith("0") ? "memory/store" : "system/echo",
      arguments: token.endsWith("0") ? { key: token, value: token } : { text: token },
      wait: false,
    });
    if (status !== 202) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
    return {
      executionId: text(body["executionId"]),
      ...(await look(server, text(body["executionId"]))),
    };
  },
};

/** What was seen as ended must stay so. No answer here takes nothing from the acknowledged start. */
async function look(server: FaultServer, id: string): Promise<Pick<Heard, "status" | "result">> {
  const none: Answer = { status: 0, body: {} };
  const { body } = await server.api("GET", `/executions/${id}`).catch(() => none);
  const seen = body["execution"] as { status: string; result?: unknown } | undefined;
  const ended = seen !== undefined && seen.status !== "running" && seen.status !== "pending";
  return ended ? { status: seen.status, result: seen.result } : { status: null, result: null };
}

function overMcp({ status, body }: Answer): Heard {
  const result = body["result"] as Record<string, unknown> | undefined;
  const meta = result?.["_meta"] as Record<string, unknown> | undefined;
  if (status !== 200 || !meta) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return {
    executionId: text(meta["ostiary/executionId"]),
    status: text(meta["ostiary/status"]),
    result: result?.["structuredContent"],
  };
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  throw new Error(`expected a text, got ${JSON.stringify(value)}`);
}

// How much later the first word of an answer comes through a chat turn than from the model itself. Both are asked in
// turn, with the very same request to the model, so that the difference is ours: rights, tools, budget, ledger, and
// each step saved before the next.
import { join } from "node:path";
import { startGoverned, type Governed } from "./governed.ts";
import { cpuOf, ROOT, startServer } from "./process.ts";
import { percentile, type BenchOptions, type Row } from "./row.ts";

const TURNS = { measured: 200, warm: 50 };
const QUICK = { measured: 40, warm: 10 };
/** A conversation has a history, and the model reads it. */
const TURNS_PER_SESSION = 10;

interface Times {
  readonly firstMs: number[];
  readonly wholeMs: number[];
}

export async function run(options: BenchOptions): Promise<Row[]> {
  const { measured, warm } = options.quick ? QUICK : TURNS;
  const model = await startServer("model", [join(ROOT, "bench", "servers", "model.ts")]);
  const governed = await startGoverned(options);
  const direct: Times = { firstMs: [], wholeMs: [] };
  const ours: Times = { firstMs: [], wholeMs: [] };
  try {
    const modelUrl = `http://127.0.0.1:${model.port}`;
    await addModel(governed, `${modelUrl}/v1`);
    const talk = openTalk(governed);
    let cpuUs = 0;
    for (let turn = 0; turn < warm + measured; turn++) {
      if (turn === warm) for (const times of [direct, ours]) clear(times);
      const from = cpuOf(governed.pid);
      await timed(ours, await talk());
      const until = cpuOf(governed.pid);
      if (turn >= warm) cpuUs += (until?.allUs ?? Number.NaN) - (from?.allUs ?? 0);
      const body = await (await fetch(`${modelUrl}/last`)).text();
      await timed(direct, { url: `${modelUrl}/v1/chat/completions`, headers: {}, body });
    }
    options.note(`${measured} turns each after ${warm} to warm up`);
    return rowsOf(direct, ours, cpuUs / measured / 1_000);
  } finally {
    await governed.remove();
    await model.stop();
  }
}

interface Asked {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly onSession?: (id: string) => void;
}

const api = (
  { port, key }: Governed,
  path: string,
  body: object,
): { url: string; headers: Record<string, string>; body: string } => ({
  url: `http://127.0.0.1:${port}${path}`,
  headers: { authorization: `Bearer ${key ?? ""}` },
  body: JSON.stringify(body),
});

async function addModel(governed: Governed, url: string): Promise<void> {
  const settings = { provider: "openai", url, abilities: ["generate"] };
  const asked = api(governed, "/api/v1/models", { name: "bench", settings, apiKey: "sk-bench" });
  const answer = await post(asked);
  if (!answer.ok) throw new Error(`the model was not added: ${await answer.text()}`);
}

/** Messages of one session after the other. */
function openTalk(governed: Governed): () => Promise<Asked> {
  let turns = 0;
  let sessionId: string | undefined;
  return () => {
    if (turns++ % TURNS_PER_SESSION === 0) sessionId = undefined;
    const message = `Hello for the ${turns}th time`;
    return Promise.resolve({
      ...api(governed, "/api/chat", { message, stream: true, sessionId }),
      onSession: (id) => (sessionId = id),
    });
  };
}

const post = ({ url, headers, body }: Asked): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });

/** From the request to the first word, and to the end of the stream. */
async function timed(times: Times, asked: Asked): Promise<void> {
  const began = performance.now();
  const answer = await post(asked);
  if (!answer.ok || !answer.body) throw new Error(`${asked.url}: ${await answer.text()}`);
  let text = "";
  let firstMs: number | null = null;
  const decoder = new TextDecoder();
  for await (const chunk of answer.body) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (firstMs === null && text.includes('Hello"')) firstMs = performance.now() - began;
  }
  if (firstMs === null) throw new Error(`${asked.url}: there was no answer in\n${text}`);
  times.firstMs.push(firstMs);
  times.wholeMs.push(performance.now() - began);
  const sessionId = /"sessionId":"(\w+)"/.exec(text)?.[1];
  if (sessionId !== undefined) asked.onSession?.(sessionId);
}

function clear({ firstMs, wholeMs }: Times): void {
  firstMs.length = 0;
  wholeMs.length = 0;
}

function rowsOf(direct: Times, ours: Times, cpuMs: number): Row[] {
  const better = "lower" as const;
  const row = (name: string, value: number): Row => ({ name, value, unit: "ms", better });
  const added = (percent: number): number =>
    percentile(ours.firstMs, percent) - percentile(direct.firstMs, percent);
  return [
    row("first word from the model itself, p50", percentile(direct.firstMs, 50)),
    row("first word through a chat turn, p50", percentile(ours.firstMs, 50)),
    { ...row("added to the first word, p50", added(50)), target: 15 },
    row("added to the first word, p95", added(95)),
    row("whole turn, p50", percentile(ours.wholeMs, 50)),
    row("CPU per turn", cpuMs),
  ];
}

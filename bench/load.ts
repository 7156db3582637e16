// The load generator, a process of its own: raw sockets, requests built beforehand, the next one goes out when an
// answer is complete. Jobs arrive and results leave over the channel to the parent.
import { connect, type Socket } from "node:net";
import { percentile } from "./row.ts";
import { ECHO_TEXT } from "./requests.ts";

export interface LoadJob {
  readonly port: number;
  readonly request: string;
  readonly connections: number;
  readonly warmMs: number;
  readonly measureMs: number;
}

export interface LoadResult {
  /** Answers inside the measured time. */
  readonly measured: number;
  readonly seconds: number;
  /** All answers, warm-up and the last ones under way included. */
  readonly answered: number;
  readonly checked: number;
  /** Answers that were no success; the first one's text. */
  readonly bad: number;
  readonly firstBad: string | null;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const CHECK_EVERY = 101;
const HEAD_END = "\r\n\r\n";
const LENGTH = /\r\ncontent-length: *(\d+)/i;

interface Run extends LoadJob {
  readonly latencies: number[];
  phase: "warm" | "measure" | "end";
  measured: number;
  answered: number;
  checked: number;
  bad: number;
  firstBad: string | null;
}

async function load(job: LoadJob): Promise<LoadResult> {
  const run: Run = {
    ...job,
    latencies: [],
    phase: "warm",
    measured: 0,
    answered: 0,
    checked: 0,
    bad: 0,
    firstBad: null,
  };
  const lines = Array.from({ length: job.connections }, (_, index) =>
    oneConnection(run, bytesOf(job, index)),
  );
  let began = performance.now();
  let ended = began;
  setTimeout(() => {
    run.phase = "measure";
    began = performance.now();
    process.send?.({ phase: "measure" });
  }, job.warmMs);
  setTimeout(() => {
    run.phase = "end";
    ended = performance.now();
    process.send?.({ phase: "end" });
  }, job.warmMs + job.measureMs);
  await Promise.all(lines);
  return {
    measured: run.measured,
    seconds: (ended - began) / 1000,
    answered: run.answered,
    checked: run.checked,
    bad: run.bad,
    firstBad: run.firstBad,
    p50Ms: percentile(run.latencies, 50),
    p99Ms: percentile(run.latencies, 99),
  };
}

/** Requests with the id 100 get one of their own per connection, for servers that all of them reach in one session. */
const bytesOf = ({ request }: LoadJob, index: number): Buffer =>
  Buffer.from(request.replace('"id":100,', `"id":${100 + index},`));

/** Resolves when the run has ended and the last answer is here. */
function oneConnection(run: Run, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = "";
    let sentAt = 0;
    const socket: Socket = connect({
      host: "127.0.0.1",
      port: run.port,
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(65_536),
        callback(size, buffer) {
          const piece = (buffer as Buffer).toString("latin1", 0, size);
          text = text === "" ? piece : text + piece;
          if (!isComplete(text)) return true;
          note(run, text, performance.now() - sentAt);
          text = "";
          if (run.phase === "end") socket.end();
          else send();
          return true;
        },
      },
    });
    const send = (): void => {
      sentAt = performance.now();
      socket.write(bytes);
    };
    socket.once("connect", send);
    socket.once("error", reject);
    socket.once("close", () => {
      if (run.phase === "end" && text === "") resolve();
      else reject(new Error(`the server closed a connection: ${text.slice(0, 200)}`));
    });
  });
}

function isComplete(text: string): boolean {
  const headEnd = text.indexOf(HEAD_END);
  if (headEnd < 0) return false;
  const length = LENGTH.exec(text);
  if (length) return text.length >= headEnd + HEAD_END.length + Number(length[1]);
  return text.endsWith("0\r\n\r\n"); // chunked: the SDK answers so
}

function note(run: Run, text: string, ms: number): void {
  run.answered++;
  if (run.phase === "measure") {
    run.measured++;
    run.latencies.push(ms);
  }
  const sampled = run.answered % CHECK_EVERY === 1;
  if (sampled) run.checked++;
  const good = text.startsWith("HTTP/1.1 200") && (!sampled || isSuccess(text));
  if (good) return;
  run.bad++;
  run.firstBad ??= text.slice(0, 600);
}

/** A result (or, from the bare echo, the call itself) that brings the text back and is no error. */
function isSuccess(text: string): boolean {
  const body = text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1);
  const answer = JSON.parse(body) as { error?: unknown; result?: { isError?: boolean } };
  return answer.error === undefined && answer.result?.isError !== true && body.includes(ECHO_TEXT);
}

process.on("message", (job: LoadJob) => {
  load(job).then(
    (result) => process.send?.({ result }),
    (cause: unknown) => process.send?.({ failed: String(cause) }),
  );
});
process.on("disconnect", () => process.exit(0));

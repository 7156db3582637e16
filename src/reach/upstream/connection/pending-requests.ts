// Requests on one connection that wait for their answer.
import type { JsonObject, Progress } from "../../../contract/call.ts";
import { UpstreamFault, type RequestOptions } from "../upstream.ts";
import type { Deadline } from "./deadline.ts";

export interface PendingRequest {
  readonly options: RequestOptions;
  readonly deadline: Deadline;
  sent: boolean;
  lastProgress: number;
  /** Questions of the server that are not answered yet. */
  questions: number;
  resolve(result: JsonObject): void;
  reject(fault: UpstreamFault): void;
}

/** Above the ids that the SDK counts for itself. */
const FIRST_ID = 1_000_000;

export class PendingRequests {
  readonly #byId = new Map<number, PendingRequest>();
  readonly #idle: (() => void)[] = [];
  #nextId = FIRST_ID;

  get size(): number {
    return this.#byId.size;
  }

  newId(): number {
    return this.#nextId++;
  }

  /** Also true for the id of a request that was given up. */
  isOurs(id: unknown): boolean {
    return typeof id === "number" && id >= FIRST_ID;
  }

  get(id: unknown): PendingRequest | undefined {
    return this.#byId.get(Number(id));
  }

  add(id: number, request: PendingRequest): void {
    this.#byId.set(id, request);
  }

  remove(id: number): void {
    this.#byId.delete(id);
    if (this.#byId.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  rejectAll(why: string): void {
    for (const one of [...this.#byId.values()])
      one.reject(new UpstreamFault("closed", why, { dispatched: one.sent }));
  }

  whenIdle(): Promise<void> {
    return new Promise((resolve) => (this.#byId.size === 0 ? resolve() : this.#idle.push(resolve)));
  }

  /** The request whose caller can be asked; null: there is none, or more than one. */
  asker(): PendingRequest | null {
    const askers = [...this.#byId.values()].filter(({ options }) => options.ask);
    return askers.length === 1 ? (askers[0] ?? null) : null;
  }

  progressed(params: JsonObject): void {
    const one = this.get(params["progressToken"]);
    const progress = parseProgress(params);
    if (!one || !progress || progress.progress <= one.lastProgress) return;
    one.lastProgress = progress.progress;
    one.deadline.restart();
    one.options.onProgress?.(progress);
  }
}

export function parseProgress({ progress, total, message }: JsonObject): Progress | null {
  if (typeof progress !== "number") return null;
  return {
    progress,
    ...(typeof total === "number" ? { total } : {}),
    ...(typeof message === "string" ? { message } : {}),
  };
}

// Follows the SDK's question for a server's era. A program that starts slowly may answer it after the SDK has given
// up and begun the legacy handshake: then the handshake is done again in the modern era.
import type { JsonObject } from "../../../contract/call.ts";
import type { RequestId } from "../stdio/messages.ts";
import { isObject } from "./faults.ts";

const PROBE = "server/discover";
/** How the SDK's client names its probes. */
const PROBE_ID = "server-discover-probe-";
/** The first version of the protocol that is modern. */
export const MODERN_VERSION = "2026-07-28";

export class EraProbe {
  readonly #discovering = Promise.withResolvers<JsonObject>();
  #state: "none" | "open" | "answered" = "none";
  /** Of the legacy handshake that was begun while the probe had no answer. */
  #handshakeId: RequestId | null = null;
  /** Of a handshake that was replaced. */
  #staleId: RequestId | null = null;

  /** none: not asked; open: without an answer so far. */
  get state(): "none" | "open" | "answered" {
    return this.#state;
  }

  /** Resolves when a modern server answers the probe after it was given up. */
  get discovered(): Promise<JsonObject> {
    return this.#discovering.promise;
  }

  requested(method: string, id: RequestId): void {
    if (method === PROBE) this.#state = "open";
    // The probe was given up for it.
    if (method === "initialize" && this.#state === "open") this.#handshakeId = id;
  }

  /** True: it answers a handshake that was replaced, so nobody waits for it. */
  answered({ id, result, error }: JsonObject): boolean {
    if (typeof id === "string" && id.startsWith(PROBE_ID)) {
      this.#state = "answered";
      if (this.#handshakeId !== null && isObject(result) && speaksModern(result))
        this.#discovering.resolve(result);
    }
    if (id !== this.#staleId || error === undefined) return false;
    this.#staleId = null;
    return true;
  }

  replaceHandshake(): void {
    this.#staleId = this.#handshakeId;
  }
}

function speaksModern({ supportedVersions }: JsonObject): boolean {
  const isModern = (version: unknown): boolean =>
    typeof version === "string" && version >= MODERN_VERSION;
  return Array.isArray(supportedVersions) && supportedVersions.some(isModern);
}

// Rules for an address that an operator wrote into the configuration: this host and port, wherever it leads, and no other.
import type { Egress, EgressRules } from "./egress.ts";

export function rulesForOperator(address: string): EgressRules {
  const url = URL.parse(address);
  const scheme = url?.protocol.slice(0, -1) ?? "";
  const host = url?.hostname.replace(/\.$/, "") ?? "";
  const port = Number(url?.port || (scheme === "http" ? 80 : 443));
  const rule = { at: "configuration", text: `only ${host}:${port} is reached` };
  return {
    schemes: [scheme],
    ports: [port],
    policy: "list",
    isBlocked: () => false,
    isAllowed: (name) => name === host,
    isExcepted: (name, at) => name === host && at === port,
    judged: new Set(),
    ruleOf: () => rule,
  };
}

const ANSWER_BYTES = 1_024;

/** Sends a message to an address of the configuration and tells the status; a redirect is not followed. */
export function postThrough(egress: Egress) {
  return async (url: string, headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<number> => {
    const request = { url, method: "POST", headers, body, maxRedirects: 0, redirect: "manual", maxBytes: ANSWER_BYTES } as const;
    const response = await egress.request(request, { rules: rulesForOperator(url), signal });
    await response.body[Symbol.asyncIterator]().return?.();
    return response.status;
  };
} // prettier-ignore

// Rules first, then the name is resolved once, and every address it has must pass. What is dialled is what was checked.
import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import type { CheckedTarget, EgressSubject, RuleSource } from "./egress.ts";
import { blocked, codeOf, dnsFailed } from "./faults.ts";
import { isLoopbackAddress, isPublicAddress, isUsableAddress } from "./hosts.ts";
import { decideUrl, type UrlTarget } from "./decide-url.ts";

export type Resolve = (host: string) => Promise<readonly string[]>;

export interface CheckOptions {
  readonly resolve: Resolve;
  readonly resolveMs: number;
  /** Ports this server itself listens on. */
  readonly ownPorts: () => readonly number[];
}

const PUBLIC_ONLY: RuleSource = { at: "built in", text: "only public addresses are reached" };
const NOT_ITSELF: RuleSource = { at: "built in", text: "tools do not call the server they run in" };
const MAX_ADDRESSES = 16;

export const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

export async function checkUrl(
  given: string,
  { rules, signal }: EgressSubject,
  options: CheckOptions,
): Promise<CheckedTarget> {
  signal.throwIfAborted();
  const decision = decideUrl(given, rules);
  if (decision.kind === "deny") throw blocked(given, decision.why, decision.rule, decision.remedy);
  const { place } = decision;
  if (decision.kind === "ask" && !rules.judged.has(place.host))
    throw blocked(
      given,
      decision.why,
      decision.rule,
      "call the tool with this address itself, so that a person can be asked about it",
    );
  const addresses =
    place.address === null ? await resolved(place.host, signal, options) : [place.address];
  const { url, host, port } = place;
  for (const address of addresses) {
    if (options.ownPorts().includes(port) && isOwn(address))
      throw blocked(given, "leads back to this server", NOT_ITSELF, "use another host");
    if (!mayReach(place, address))
      throw blocked(
        given,
        `${host} leads to ${address}, which is not a public address`,
        PUBLIC_ONLY,
        "use a public host, or have an administrator name it in hosts.private",
      );
  }
  return { url, host, port, addresses };
}

function mayReach({ excepted, address: literal }: UrlTarget, address: string): boolean {
  if (!excepted) return isPublicAddress(address);
  return literal !== null || isUsableAddress(address);
}

const isOwn = (address: string): boolean =>
  isLoopbackAddress(address) ||
  Object.values(networkInterfaces()).some((cards) =>
    cards?.some((card) => card.address === address),
  );

async function resolved(
  host: string,
  signal: AbortSignal,
  { resolve, resolveMs }: CheckOptions,
): Promise<readonly string[]> {
  const answer = resolve(host).catch((cause: unknown) => {
    const absent = codeOf(cause) === "ENOTFOUND";
    throw dnsFailed(host, absent ? "does not exist" : "could not be resolved", cause);
  });
  const addresses = await within(answer, signal, resolveMs, () =>
    dnsFailed(host, `was not resolved within ${resolveMs} ms`),
  );
  if (addresses.length === 0) throw dnsFailed(host, "has no address");
  return addresses.slice(0, MAX_ADDRESSES);
}

/** A resolver that does not answer counts as a failure. */
function within<T>(
  work: Promise<T>,
  signal: AbortSignal,
  ms: number,
  late: () => Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    // The reason of a cancel need not be an error.
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
    const onAbort = (): void => end(() => reject(signal.reason));
    const timer = setTimeout(() => end(() => reject(late())), ms);
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      settle();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(
      (value) => end(() => resolve(value)),
      (cause: Error) => end(() => reject(cause)),
    );
  });
}

// Counts every API request before it is answered: per address for anonymous callers, and in the budget api_calls.
import type { Caller } from "../../contract/call.ts";
import type { AppError } from "../../contract/errors.ts";
import type { Doors } from "../doors.ts";

type Counting = Pick<Doors, "addressThrottle" | "requests">;

/** The refusal, or null once the request is counted. A refused request is not counted. */
export function countRequest(
  { addressThrottle, requests }: Counting,
  caller: Caller,
  ip: string | undefined,
  spared = false,
): AppError | null | Promise<AppError | null> {
  const refused = caller.via === "anonymous" ? addressThrottle.countAnonymous(ip) : null;
  return refused ?? requests.count(caller, spared);
}

/** The same; throws the refusal. */
export async function assertRequestCounted(
  ...request: Parameters<typeof countRequest>
): Promise<void> {
  const refused = await countRequest(...request);
  if (refused) throw refused;
}

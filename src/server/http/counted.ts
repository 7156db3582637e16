// Every request of an API counts before it is answered: on the address of a caller that nobody answers for, and in api_calls.
import type { Caller } from "../../contract/call.ts";
import type { AppError } from "../../contract/errors.ts";
import type { Doors } from "../doors.ts";

type Counting = Pick<Doors, "attempts" | "requests">;

/** What to refuse the request with, or null once it is counted. A refused one counts nothing. */
export function counted(
  { attempts, requests }: Counting,
  caller: Caller,
  ip: string | undefined,
  spared = false,
): AppError | null | Promise<AppError | null> {
  const unknown = caller.via === "anonymous" ? attempts.anonymous(ip) : null;
  return unknown ?? requests.count(caller, spared);
}

/** The same for doors that throw. */
export async function assertCounted(...request: Parameters<typeof counted>): Promise<void> {
  const refused = await counted(...request);
  if (refused) throw refused;
}

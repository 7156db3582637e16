// How requests are sent: reads at the freshness that is needed now, writes followed by a change signal. What the server
// refuses becomes an AppError here.
import type { EmbeddedPowers } from "../embedded/index.ts";
import { faultOfServer, serverFault, tokenRefused } from "./faults.ts";
import type { Freshness } from "./freshness.ts";

export interface Requests {
  /** Sends a read; once more, against the newest state, when the server refuses the token. */
  fresh<A>(send: (now: ReturnType<Freshness["next"]>) => Promise<A>): Promise<A>;
  /** Waits for a write; resolves with its token after every instance has learnt of the change. */
  committed(write: Promise<{ token: string } | undefined>): Promise<{ revision: string }>;
}

export function createRequests(
  freshness: Freshness,
  follower: EmbeddedPowers["follower"],
  changed: () => void,
): Requests {
  const translated = async <A>(work: Promise<A>): Promise<A> => {
    try {
      return await work;
    } catch (cause) {
      // A write that was not answered may have been done all the same.
      freshness.renew();
      throw faultOfServer(serverFault(cause), cause);
    }
  };

  return {
    async fresh(send) {
      if (mayHaveMissed(follower)) freshness.renew();
      try {
        return await send(freshness.next());
      } catch (cause) {
        if (!tokenRefused(serverFault(cause))) throw faultOfServer(serverFault(cause), cause);
        freshness.renew();
        return translated(send(freshness.next()));
      }
    },
    async committed(write) {
      const token = await translated(write);
      changed();
      await follower?.changed("relations");
      return { revision: token?.token ?? "" };
    },
  };
}

/** Changes of other instances may not have arrived here: only the newest state is safe. */
function mayHaveMissed(follower: EmbeddedPowers["follower"]): boolean {
  try {
    follower?.assertFresh();
    return false;
  } catch {
    return true;
  }
}

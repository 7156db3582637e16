// The client's address: that of the connection, or the one that a trusted proxy names in X-Forwarded-For.
import type { IncomingHttpHeaders } from "node:http";
import { BlockList, isIP } from "node:net";

interface Incoming {
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers: IncomingHttpHeaders;
}

export interface Clients {
  addressOf(req: Incoming): string | undefined;
  /** True for the trusted proxies; X-Forwarded-For of others is never read. */
  isProxy(address: string | undefined): boolean;
}

/** `trusted`: addresses and networks, such as 10.0.0.7 or 10.0.0.0/8. */
export function createClients(trusted: readonly string[]): Clients {
  // The usual case: no proxies, nothing to look up.
  if (trusted.length === 0)
    return { addressOf: ({ socket }) => socket.remoteAddress, isProxy: () => false };
  const proxies = new BlockList();
  for (const one of trusted) addTo(proxies, one);
  const isProxy = (address: string | undefined): boolean => {
    const family = isIP(address ?? "");
    return family !== 0 && proxies.check(address ?? "", family === 6 ? "ipv6" : "ipv4");
  };
  return {
    isProxy,
    /**
     * Reads from the right: what stands left of the first address that is no trusted proxy was written by the client.
     */
    addressOf({ socket, headers }) {
      let address = socket.remoteAddress;
      const hops = String(headers["x-forwarded-for"] ?? "").split(",");
      while (isProxy(address)) {
        const before = addressIn(hops.pop() ?? "");
        if (before === null) break;
        address = before;
      }
      return address;
    },
  };
}

function addTo(list: BlockList, entry: string): void {
  const [address = "", bits] = entry.split("/");
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (bits === undefined) list.addAddress(address, family);
  else list.addSubnet(address, Number(bits), family);
}

/** Some proxies add the port. Null: not an address. */
function addressIn(hop: string): string | null {
  const text = hop.trim();
  const bare =
    /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1];
  const address = bare ?? text;
  return isIP(address) === 0 ? null : address;
}

// Loaded before programs of others that would listen on every interface: they listen on loopback. Below `listen`,
// because one with a host looks it up first, and such programs ask for their port at once.
import { Server } from "node:net";

type Bind = (this: Server, address: string | null, port: unknown, ...rest: unknown[]) => void;

const below = Server.prototype as unknown as { _listen2: Bind };
const bind = below._listen2;
below._listen2 = function (address, port, ...rest) {
  const everywhere = typeof port === "number" && !address;
  bind.call(this, everywhere ? "127.0.0.1" : address, port, ...rest);
};

// Runs inside the box before the program when it may have network: opens the one listening socket and passes it to the
// server outside, which keeps it. Nothing of ours is left inside when the program starts.
import { createServer } from "node:net";

const PORT = 3128;
const server = createServer();
server.listen(PORT, "127.0.0.1", () => {
  process.send?.("door", server, {}, (cause) => process.exit(cause === null ? 0 : 1));
});

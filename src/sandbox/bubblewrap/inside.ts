// Runs inside the box before the program when it may have network: opens the one door, hands it to the server outside
// and becomes the program. `inside <variables as JSON> <program> <arguments…>`
import { createServer } from "node:net";

const PORT = 3128;
const [variables = "{}", ...argv] = process.argv.slice(2);
const server = createServer();
server.listen(PORT, "127.0.0.1", () => {
  process.send?.("door", server, {}, (cause) => {
    if (cause !== null) process.exit(1);
    // Node ignores two signals, and programs would inherit that.
    const env = ["/usr/bin/env", "--default-signal=PIPE", "--default-signal=XFSZ", "--", ...argv];
    process.execve?.("/usr/bin/env", env, JSON.parse(variables) as Record<string, string>);
  });
});

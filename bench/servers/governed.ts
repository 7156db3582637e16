// The governed server from its sources, with as many extra tools as asked: the case no bundle can serve.
// argv: data directory, number of registered tools (0 = the native ones only).
import { createApp } from "../../src/app/app.ts";
import { loadConfig } from "../../src/config/config.ts";
import { NATIVE_TOOLS } from "../../src/tools/index.ts";
import { MANY_CALLS } from "../process.ts";
import { manyTools } from "../tools.ts";

const [dataDir = "", wanted = "0"] = process.argv.slice(2);
const { config } = await loadConfig({
  env: MANY_CALLS,
  flags: { dataDir, "server.port": "0", "log.level": "error" },
});
const began = performance.now();
const app = await createApp(config, {
  tools: manyTools(Math.max(0, Number(wanted) - NATIVE_TOOLS.length)),
});
const openMs = performance.now() - began;
const url = await app.listen();
const key = app.dataDir.readSecret("admin.key");
console.log(JSON.stringify({ port: Number(new URL(url).port), key, openMs, tools: app.toolCount }));
process.on("SIGTERM", () => {
  app.close().then(
    () => process.exit(0),
    (cause: unknown) => {
      console.error(cause);
      process.exit(1);
    },
  );
});

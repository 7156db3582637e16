// Every file of the parser corpus as a value inside a call, byte for byte.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openCount, type Probe } from "../figure.ts";
import { NotRun } from "../results.ts";
import { UNLIMITED } from "./shared.ts";

const CORPUS = join(import.meta.dirname, "../../../../shared/corpora/json/test_parsing");
/** Legal JSON, and refused on purpose: which of the two is meant is anybody's guess. */
const REFUSED_ON_PURPOSE = /^y_object_duplicated_key/;

const probe: Probe = async ({ open }) => {
  if (!existsSync(CORPUS)) throw new NotRun("../shared/corpora/json is absent");
  const target = await open(UNLIMITED);
  const count = openCount("files");
  const before = Buffer.from(
    '{"name":"system/echo","arguments":{"text":"x"},"context":{"metadata":{"v":',
  );
  for (const name of readdirSync(CORPUS).filter((file) => file.endsWith(".json"))) {
    const body = Buffer.concat([before, readFileSync(join(CORPUS, name)), Buffer.from("}}}")]);
    const response = await fetch(`${target.url}/api/v1/executions`, {
      method: "POST",
      headers: { authorization: `Bearer ${target.adminKey}`, "content-type": "application/json" },
      body,
    });
    await response.arrayBuffer();
    const { status } = response;
    if (name.startsWith("y_") && !REFUSED_ON_PURPOSE.test(name))
      count.control(status === 200, `${name} got ${status}`);
    const isWrong =
      status >= 500 ||
      (name.startsWith("n_") && status < 400) ||
      (name.startsWith("y_") && status !== (REFUSED_ON_PURPOSE.test(name) ? 400 : 200));
    count.add(isWrong ? `${name} got ${status}` : null);
  }
  return count.figure({ note: "repeated keys are refused on purpose: 2 of the y_ files" });
};
export default probe;

// Every route of the API without a key and, where it is for administrators, with a user's key.
import { endpoints } from "../../../src/server/api/index.ts";
import { openCount, type Probe } from "../figure.ts";
import { keyFor, UNLIMITED } from "./shared.ts";

const probe: Probe = async ({ open }) => {
  const target = await open(UNLIMITED);
  const { secret } = await keyFor(target, "ann");
  const count = openCount("requests");
  for (const { method, path, access, name } of endpoints) {
    const filled = path.replaceAll(/\{\w+\}/g, "some");
    const anonymous = await target.api(method, filled, { key: null });
    count.add(
      anonymous.status === 401 ? null : `${method} ${path} without a key got ${anonymous.status}`,
    );
    const rpc = await fetch(`${target.url}/trpc/${name}`, { method });
    await rpc.arrayBuffer();
    count.add(rpc.status === 401 ? null : `/trpc/${name} without a key got ${rpc.status}`);
    if (access === "admin") {
      const { status } = await target.api(method, filled, { key: secret });
      count.add(status === 403 ? null : `${method} ${path} for a user got ${status}`);
    }
    if (method === "GET" && !path.includes("{") && path !== "/events") {
      const { status } = await target.api(method, path);
      // Some need a query; what is asked here is whether the key is let in.
      count.control(
        status === 200 || status === 400,
        `${method} ${path} for the administrator got ${status}`,
      );
    }
  }
  return count.figure({ figures: `${endpoints.length} routes` });
};
export default probe;

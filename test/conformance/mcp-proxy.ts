// The referee sends no credential: this adds one and leaves everything else, Host and Origin included, as it came.
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export async function startKeyProxy(target: string, key: string) {
  const { hostname, port } = new URL(target);
  const server = createServer((req, res) => {
    const { method, url: path, rawHeaders } = req;
    const headers = [...rawHeaders, "Authorization", `Bearer ${key}`];
    const onward = request({ hostname, port, method, path, headers, setHost: false }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(res);
    });
    onward.on("error", () => res.destroy());
    res.on("close", () => onward.destroy());
    req.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url, close };
}

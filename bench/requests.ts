// The one request every server of a comparison gets, byte for byte the same but for the credential.

const PREFIX = "io.modelcontextprotocol/";
/** 64 bytes, as in the reference figures. */
export const ECHO_TEXT = "The quick brown fox jumps over the lazy dog, sixty-four bytes...";

export function echoBody(): string {
  return JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: {
      name: "system_echo",
      arguments: { text: ECHO_TEXT },
      _meta: {
        [`${PREFIX}protocolVersion`]: "2026-07-28",
        [`${PREFIX}clientCapabilities`]: {},
        [`${PREFIX}clientInfo`]: { name: "bench", version: "1.0.0" },
      },
    },
  });
}

/** A whole HTTP/1.1 request as it goes over the wire. */
export function echoRequest(port: number, key: string | null): string {
  const body = echoBody();
  return [
    "POST /mcp HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    "Content-Type: application/json",
    "Accept: application/json, text/event-stream",
    "MCP-Protocol-Version: 2026-07-28",
    "Mcp-Method: tools/call",
    "Mcp-Name: system_echo",
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
    `Content-Length: ${Buffer.byteLength(body)}`,
    "",
    body,
  ].join("\r\n");
}

// A server upstream that misbehaves in every way there is, beside a tool that does as it should.
import { BAD, BAD_TOOLS, ECHO, startMcpUpstream } from "../../test/fixtures/mcp-upstream.ts";

const { url } = await startMcpUpstream({ tools: [ECHO, ...BAD_TOOLS], behave: BAD });
console.log(JSON.stringify({ port: Number(new URL(url).port) }));

// Tools the referee calls by name, written from the scenarios' own texts. Registered for the conformance run only.
import { setTimeout as sleep } from "node:timers/promises";
import type { Json, JsonObject } from "../../src/contract/call.ts";
import { freezeTool, toolError, type Tool, type ToolContext } from "../../src/contract/tool.ts";

/** A red pixel and an empty sound, the smallest of their kind. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const NO_ARGUMENTS: JsonObject = { type: "object", properties: {}, additionalProperties: false };

interface Fixture {
  readonly description: string;
  readonly inputSchema?: JsonObject;
  run(input: JsonObject, context: ToolContext): Json | Promise<Json>;
}

const text = (words: string): Json => ({ $content: [{ type: "text", text: words }] });

export interface FixturePowers {
  /** Alters the list of tools, so that the referee can watch for the notice. */
  change(): Promise<void>;
  /** Called for each run: two scenarios are green on a server that lacks their tool. */
  ran(wireName: string): void;
}

export function conformanceTools(powers: FixturePowers): Tool[] {
  const fixtures: Record<string, Fixture> = {
    test_simple_text: {
      description: "Answers with one sentence.",
      run: () => text("This is a simple text response for testing."),
    },
    test_image_content: {
      description: "Answers with one pixel.",
      run: () => ({ $content: [{ type: "image", data: PNG, mimeType: "image/png" }] }),
    },
    test_audio_content: {
      description: "Answers with a silent sound.",
      run: () => ({ $content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }),
    },
    test_embedded_resource: {
      description: "Answers with a resource inside.",
      run: () => ({
        $content: [
          {
            type: "resource",
            resource: {
              uri: "test://embedded-resource",
              mimeType: "text/plain",
              text: "This is an embedded resource content.",
            },
          },
        ],
      }),
    },
    test_multiple_content_types: {
      description: "Answers with words, a picture and a resource.",
      run: () => ({
        $content: [
          { type: "text", text: "Multiple content types test:" },
          { type: "image", data: PNG, mimeType: "image/png" },
          {
            type: "resource",
            resource: {
              uri: "test://mixed-content-resource",
              mimeType: "application/json",
              text: '{"test":"data","value":123}',
            },
          },
        ],
      }),
    },
    test_tool_with_progress: {
      description: "Reports its progress three times.",
      async run(_input, context) {
        for (const progress of [0, 50, 100]) {
          context.progress({ progress, total: 100 });
          await sleep(50, undefined, { signal: context.signal });
        }
        return text("done");
      },
    },
    test_error_handling: {
      description: "Fails every time.",
      run: () => {
        throw toolError("unexpected", "This tool intentionally returns an error for testing");
      },
    },
    json_schema_2020_12_tool: {
      description: "Tool with JSON Schema 2020-12 features.",
      inputSchema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        $defs: {
          address: {
            $anchor: "addressDef",
            type: "object",
            properties: { street: { type: "string" }, city: { type: "string" } },
          },
        },
        properties: {
          name: { type: "string" },
          address: { $ref: "#/$defs/address" },
          contactMethod: { type: "string", enum: ["phone", "email"] },
          phone: { type: "string" },
          email: { type: "string" },
        },
        allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
        if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
        then: { required: ["phone"] },
        else: { required: ["email"] },
        additionalProperties: false,
      },
      run: (input) => text(JSON.stringify(input)),
    },
    test_x_mcp_header: {
      description: "Wants one argument repeated in a header.",
      inputSchema: {
        type: "object",
        properties: { region: { type: "string", "x-mcp-header": "Region" } },
        required: ["region"],
        additionalProperties: false,
      },
      run: (input) => text(JSON.stringify(input)),
    },
    test_streaming_elicitation: {
      description: "Streams progress and asks nobody anything.",
      async run(_input, context) {
        context.progress({ progress: 1, total: 2 });
        await sleep(20, undefined, { signal: context.signal });
        context.progress({ progress: 2, total: 2 });
        return text("done");
      },
    },
    test_logging_tool: {
      description: "Has nothing to log unless somebody asks.",
      run: () => text("done"),
    },
    test_trigger_tool_change: {
      description: "Changes the list of tools.",
      async run() {
        await powers.change();
        return text("changed");
      },
    },
    greet: {
      description: "Greets at once.",
      inputSchema: {
        type: "object",
        properties: { name: { type: "string" } },
        required: ["name"],
        additionalProperties: false,
      },
      run: ({ name }) => text(`Hello, ${name as string}!`), // held to the schema
    },
    slow_compute: {
      description: "Computes for some seconds.",
      inputSchema: {
        type: "object",
        properties: { seconds: { type: "number" }, label: { type: "string" } },
        additionalProperties: false,
      },
      async run({ seconds = 0, label = "" }, context) {
        await sleep(Number(seconds) * 1000, undefined, { signal: context.signal });
        return text(`computed ${label as string}`); // held to the schema
      },
    },
    failing_job: {
      description: "Fails after a second.",
      async run(_input, context) {
        await sleep(1_000, undefined, { signal: context.signal });
        throw toolError("unexpected", "it failed");
      },
    },
    test_spare: {
      description: "Comes and goes.",
      run: () => text("here"),
    },
  };
  return Object.entries(fixtures).map(([wireName, fixture]) =>
    fixtureTool(wireName, {
      ...fixture,
      run(input, context) {
        powers.ran(wireName);
        return fixture.run(input, context);
      },
    }),
  );
}

function fixtureTool(wireName: string, fixture: Fixture): Tool {
  return freezeTool({
    id: `system/${wireName}`,
    name: `system/${wireName}`,
    wireName,
    displayName: wireName,
    description: fixture.description,
    category: "system",
    provider: "native",
    inputSchema: fixture.inputSchema ?? NO_ARGUMENTS,
    outputSchema: null,
    risk: "safe",
    effects: "read_only",
    requiresApproval: false,
    requiresSandbox: false,
    sandbox: null,
    escalations: [],
    cacheable: false,
    timeoutMs: 10_000,
    rateLimitPerHour: null,
    tags: [],
    version: "1.0.0",
    requiredPermissions: [],
    touches: [],
    meters: [],
    route: null,
    deprecated: null,
    aliases: [],
    examples: [],
    idempotent: true,
    openWorld: false,
    enabled: true,
    linkState: "linked",
    native: { needs: [], run: (input, _powers, context) => fixture.run(input, context) },
  });
}

// Tools of the fixture server, written from the texts of the referee's scenarios.
import { setTimeout as sleep } from "node:timers/promises";
import {
  inputRequired,
  inputResponse,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  type CallToolResult,
  type InputRequests,
  type InputRequiredResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { TASK_WORK, type TaskContext } from "./fixture-tasks.ts";

/** A red pixel and an empty sound, the smallest of their kind. */
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

type Schema = { type: "object" } & Record<string, unknown>;
/** A task is as open as a result; the SDK has no type for it. */
type Answer = CallToolResult | InputRequiredResult | { readonly resultType: "task" };

export interface FixtureTool {
  readonly description: string;
  readonly inputSchema?: Schema;
  run(args: Record<string, unknown>, ctx: FixtureContext): Answer | Promise<Answer>;
}

export interface FixtureContext {
  readonly ctx: ServerContext;
  /** As the client declared them, per request or per session. */
  readonly capabilities: Record<string, unknown>;
  /** Seals what travels through the client. */
  readonly mint: (payload: { readonly step: number }) => Promise<string>;
  /** A task where the client knows them, else the result once it is there. */
  readonly task: (
    work: (context: TaskContext) => Promise<CallToolResult>,
    need?: "required",
  ) => Answer | Promise<Answer>;
  /** Alters a list and tells whoever listens. */
  readonly change: (list: "tools" | "prompts") => void;
}

const text = (words: string): CallToolResult => ({ content: [{ type: "text", text: words }] });
const none: Schema = { type: "object", properties: {} };

const NAME = {
  type: "object",
  properties: { name: { type: "string" } },
  required: ["name"],
} as const;
const question = (message: string, requestedSchema: object) =>
  inputRequired.elicit({ message, requestedSchema } as Parameters<typeof inputRequired.elicit>[0]);
const sample = (words: string, maxTokens: number) =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: words } }],
    maxTokens,
  });

/** The accepted answer to a form under this key; null: there is none yet. */
function accepted({ ctx }: FixtureContext, key: string): Record<string, unknown> | null {
  const answer = inputResponse(ctx.mcpReq.inputResponses, key);
  return answer.kind === "elicit" && answer.action === "accept" ? (answer.content ?? {}) : null;
}

/** Whatever was answered to a form, as text. */
function formAnswer({ ctx }: FixtureContext, key: string): string | null {
  const answer = inputResponse(ctx.mcpReq.inputResponses, key);
  if (answer.kind !== "elicit") return null;
  return `action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`;
}

function sampled({ ctx }: FixtureContext, key: string): string | null {
  const answer = inputResponse(ctx.mcpReq.inputResponses, key);
  if (answer.kind !== "sampling") return null;
  const content = [answer.result.content].flat();
  return content.map((block) => (block.type === "text" ? block.text : block.type)).join(" ");
}

const ask = async (c: FixtureContext, inputRequests: InputRequests, step?: number) =>
  inputRequired({
    inputRequests,
    ...(step === undefined ? {} : { requestState: await c.mint({ step }) }),
  });

const stepOf = ({ ctx }: FixtureContext): number | null =>
  ctx.mcpReq.requestState<{ step: number }>()?.step ?? null;

async function logs({ ctx }: FixtureContext): Promise<void> {
  for (const words of [
    "Tool execution started",
    "Tool processing data",
    "Tool execution completed",
  ]) {
    await ctx.mcpReq.log("info", words);
    await sleep(50);
  }
}

async function progress({ ctx }: FixtureContext, values: readonly number[]): Promise<void> {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  for (const value of values) {
    if (progressToken !== undefined)
      await ctx.mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress: value, total: 100 },
      });
    await sleep(50);
  }
}

const form =
  (
    key: string,
    message: string,
    schema: object,
    done: (answer: string) => string,
  ): FixtureTool["run"] =>
  (_args, c) => {
    const answer = formAnswer(c, key);
    return answer === null ? ask(c, { [key]: question(message, schema) }) : text(done(answer));
  };

const enumeration = (title: string) => [
  { const: "value1", title: `First ${title}` },
  { const: "value2", title: `Second ${title}` },
  { const: "value3", title: `Third ${title}` },
];
const OPTIONS = ["option1", "option2", "option3"];

export const FIXTURE_TOOLS: Readonly<Record<string, FixtureTool>> = {
  test_simple_text: {
    description: "Answers with one sentence.",
    run: () => text("This is a simple text response for testing."),
  },
  test_image_content: {
    description: "Answers with one pixel.",
    run: () => ({ content: [{ type: "image", data: PNG, mimeType: "image/png" }] }),
  },
  test_audio_content: {
    description: "Answers with a silent sound.",
    run: () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }),
  },
  test_embedded_resource: {
    description: "Answers with a resource inside.",
    run: () => ({
      content: [
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
      content: [
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
  test_tool_with_logging: {
    description: "Writes three log messages.",
    run: async (_args, c) => {
      await logs(c);
      return text("logged");
    },
  },
  test_logging_tool: {
    description: "Writes log messages to whoever asked for them.",
    run: async (_args, c) => {
      await c.ctx.mcpReq.log("info", "a message");
      return text("done");
    },
  },
  test_tool_with_progress: {
    description: "Reports its progress three times.",
    run: async (_args, c) => {
      await progress(c, [0, 50, 100]);
      return text("done");
    },
  },
  test_error_handling: {
    description: "Fails every time.",
    run: () => ({ ...text("This tool intentionally returns an error for testing"), isError: true }),
  },
  test_reconnection: {
    description: "Ends the stream of its call before the answer.",
    run: async (_args, { ctx }) => {
      await sleep(50);
      ctx.http?.closeSSE?.();
      await sleep(200);
      return text("reconnected");
    },
  },
  test_sampling: {
    description: "Asks the client's model.",
    inputSchema: {
      type: "object",
      properties: { prompt: { type: "string" } },
      required: ["prompt"],
    },
    run: ({ prompt }, c) => {
      const said = sampled(c, "sample");
      return said === null
        ? ask(c, { sample: sample(String(prompt), 100) })
        : text(`LLM response: ${said}`);
    },
  },
  test_elicitation: {
    description: "Asks the client's user.",
    inputSchema: {
      type: "object",
      properties: { message: { type: "string" } },
      required: ["message"],
    },
    run: ({ message }, c) => {
      const properties = {
        username: { type: "string", description: "User's response" },
        email: { type: "string", description: "User's email address" },
      };
      const schema = { type: "object", properties, required: ["username", "email"] };
      return form("user", String(message), schema, (answer) => `User response: ${answer}`)({}, c);
    },
  },
  test_elicitation_sep1034_defaults: {
    description: "Asks with defaults of every kind.",
    run: form(
      "defaults",
      "Please check the values",
      {
        type: "object",
        properties: {
          name: { type: "string", default: "John Doe" },
          age: { type: "integer", default: 30 },
          score: { type: "number", default: 95.5 },
          status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
          verified: { type: "boolean", default: true },
        },
        required: [],
      },
      (answer) => `Elicitation completed: ${answer}`,
    ),
  },
  test_elicitation_sep1330_enums: {
    description: "Asks with choices of every kind.",
    run: form(
      "enums",
      "Please choose",
      {
        type: "object",
        properties: {
          untitledSingle: { type: "string", enum: OPTIONS },
          titledSingle: { type: "string", oneOf: enumeration("Option") },
          legacyEnum: {
            type: "string",
            enum: ["opt1", "opt2", "opt3"],
            enumNames: ["Option One", "Option Two", "Option Three"],
          },
          untitledMulti: { type: "array", items: { type: "string", enum: OPTIONS } },
          titledMulti: { type: "array", items: { anyOf: enumeration("Choice") } },
        },
        required: [],
      },
      (answer) => `Elicitation completed: ${answer}`,
    ),
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
    run: (args) => text(JSON.stringify(args)),
  },
  test_missing_capability: {
    description: "Needs a client with a model.",
    run: (_args, { capabilities }) => {
      if (capabilities["sampling"] === undefined)
        throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
      return text("the client has a model");
    },
  },
  test_streaming_elicitation: {
    description: "Streams progress and asks nobody anything.",
    run: async (_args, c) => {
      await progress(c, [50, 100]);
      return text("done");
    },
  },
  test_x_mcp_header: {
    description: "Wants one argument repeated in a header.",
    inputSchema: {
      type: "object",
      properties: { region: { type: "string", "x-mcp-header": "Region" } },
      required: ["region"],
    },
    run: (args) => text(JSON.stringify(args)),
  },
  test_trigger_tool_change: {
    description: "Changes the list of tools.",
    run: (_args, { change }) => {
      change("tools");
      return text("changed");
    },
  },
  test_trigger_prompt_change: {
    description: "Changes the list of prompts.",
    run: (_args, { change }) => {
      change("prompts");
      return text("changed");
    },
  },
  test_input_required_result_elicitation: {
    description: "Asks for a name.",
    run: (_args, c) => {
      const answer = accepted(c, "user_name");
      return typeof answer?.["name"] === "string"
        ? text(`Hello, ${answer["name"]}!`)
        : ask(c, { user_name: question("What is your name?", NAME) });
    },
  },
  test_input_required_result_sampling: {
    description: "Asks a model for a capital.",
    run: (_args, c) => {
      const said = sampled(c, "capital_question");
      return said === null
        ? ask(c, { capital_question: sample("What is the capital of France?", 100) })
        : text(said);
    },
  },
  test_input_required_result_list_roots: {
    description: "Asks for the roots.",
    run: (_args, c) => {
      const answer = inputResponse(c.ctx.mcpReq.inputResponses, "client_roots");
      return answer.kind === "roots"
        ? text(`Roots: ${answer.roots.map(({ uri }) => uri).join(", ")}`)
        : ask(c, { client_roots: inputRequired.listRoots() });
    },
  },
  test_input_required_result_request_state: {
    description: "Wants its state back.",
    run: async (_args, c) => {
      if (accepted(c, "confirm") !== null && stepOf(c) === 1) return text("state-ok");
      const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
      return ask(c, { confirm: question("Please confirm", schema) }, 1);
    },
  },
  test_input_required_result_multiple_inputs: {
    description: "Asks three things at once.",
    run: async (_args, c) => {
      const name = accepted(c, "user_name");
      const greeting = sampled(c, "greeting");
      const roots = inputResponse(c.ctx.mcpReq.inputResponses, "client_roots");
      if (name !== null && greeting !== null && roots.kind === "roots")
        return text(`${greeting} ${String(name["name"])}, ${roots.roots.length} roots`);
      return ask(
        c,
        {
          user_name: question("What is your name?", NAME),
          greeting: sample("Generate a greeting", 50),
          client_roots: inputRequired.listRoots(),
        },
        1,
      );
    },
  },
  test_input_required_result_multi_round: {
    description: "Asks twice.",
    run: async (_args, c) => {
      const color = {
        type: "object",
        properties: { color: { type: "string" } },
        required: ["color"],
      };
      if (stepOf(c) === 2 && accepted(c, "step2") !== null) return text("both answered");
      if (stepOf(c) === 1 && accepted(c, "step1") !== null)
        return ask(c, { step2: question("Step 2: What is your favorite color?", color) }, 2);
      return ask(c, { step1: question("Step 1: What is your name?", NAME) }, 1);
    },
  },
  test_input_required_result_tampered_state: {
    description: "Refuses a state that was altered.",
    run: async (_args, c) => {
      if (stepOf(c) === 1 && accepted(c, "confirm") !== null) return text("untouched");
      const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
      return ask(c, { confirm: question("Please confirm", schema) }, 1);
    },
  },
  test_input_required_result_capabilities: {
    description: "Asks only what the client can answer.",
    run: async (_args, c) => {
      const { sampling, elicitation } = c.capabilities;
      const requests: InputRequests = {
        ...(sampling === undefined ? {} : { greeting: sample("Generate a greeting", 50) }),
        ...(elicitation === undefined ? {} : { user_name: question("What is your name?", NAME) }),
      };
      const asked = Object.keys(requests);
      if (asked.length === 0) throw new ProtocolError(-32602, "the client can answer nothing");
      const answered = asked.every(
        (key) => inputResponse(c.ctx.mcpReq.inputResponses, key).kind !== "missing",
      );
      return answered ? text("answered") : ask(c, requests);
    },
  },
  greet: {
    description: "Greets at once.",
    inputSchema: NAME,
    run: ({ name }) => text(`Hello, ${String(name)}!`),
  },
  slow_compute: {
    description: "Computes for some seconds.",
    inputSchema: {
      type: "object",
      properties: { seconds: { type: "number" }, label: { type: "string" } },
    },
    ...asTask("slow_compute"),
  },
  failing_job: { description: "Fails after a second.", ...asTask("failing_job", "required") },
  protocol_error_job: { description: "Breaks.", ...asTask("protocol_error_job") },
  confirm_delete: {
    description: "Asks whether to delete.",
    inputSchema: { type: "object", properties: { filename: { type: "string" } } },
    ...asTask("confirm_delete"),
  },
  multi_input: { description: "Asks two things at once.", ...asTask("multi_input") },
  test_tool_with_task: {
    description: "Asks for a name, then works on.",
    run: (_args, c) => {
      const name = accepted(c, "user_name")?.["name"];
      if (typeof name !== "string")
        return ask(c, { user_name: question("What is your name?", NAME) });
      return c.task(async ({ signal }) => {
        await sleep(300, undefined, { signal });
        return text(`Hello, ${name}!`);
      }, "required");
    },
  },
};

function asTask(name: string, need?: "required"): Pick<FixtureTool, "run"> {
  return {
    run: (args, c) =>
      c.task(
        (context) => TASK_WORK[name]?.(args, context) ?? Promise.resolve(text("nothing to do")),
        need,
      ),
  };
}

export const schemaOf = (name: string): Schema => FIXTURE_TOOLS[name]?.inputSchema ?? none;

// Prompts and resources of the fixture server, written from the texts of the referee's scenarios.
import {
  inputRequired,
  inputResponse,
  ProtocolError,
  ResourceNotFoundError,
  type GetPromptResult,
  type InputRequiredResult,
  type Prompt,
  type ReadResourceResult,
  type Resource,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { PNG } from "./fixture-tools.ts";

export const RESOURCES: readonly Resource[] = [
  {
    uri: "test://static-text",
    name: "static-text",
    description: "A text that stays.",
    mimeType: "text/plain",
  },
  {
    uri: "test://static-binary",
    name: "static-binary",
    description: "A picture that stays.",
    mimeType: "image/png",
  },
  {
    uri: "test://watched-resource",
    name: "watched-resource",
    description: "A text to watch.",
    mimeType: "text/plain",
  },
];

export const TEMPLATES = [
  {
    uriTemplate: "test://template/{id}/data",
    name: "template",
    description: "Data by id.",
    mimeType: "application/json",
  },
];

export function readResource(uri: string): ReadResourceResult {
  const templated = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (templated !== undefined) {
    const data = { id: templated, templateTest: true, data: `Data for ID: ${templated}` };
    return { contents: [{ uri, mimeType: "application/json", text: JSON.stringify(data) }] };
  }
  switch (uri) {
    case "test://static-text":
      return {
        contents: [
          { uri, mimeType: "text/plain", text: "This is the content of the static text resource." },
        ],
      };
    case "test://static-binary":
      return { contents: [{ uri, mimeType: "image/png", blob: PNG }] };
    case "test://watched-resource":
      return { contents: [{ uri, mimeType: "text/plain", text: "Watched." }] };
    default:
      throw new ResourceNotFoundError(uri);
  }
}

const required = (...names: string[]) =>
  names.map((name) => ({ name, description: `The ${name}`, required: true }));

export const PROMPTS: readonly Prompt[] = [
  { name: "test_simple_prompt", description: "One sentence." },
  {
    name: "test_prompt_with_arguments",
    description: "Two arguments.",
    arguments: required("arg1", "arg2"),
  },
  {
    name: "test_prompt_with_embedded_resource",
    description: "A resource inside.",
    arguments: required("resourceUri"),
  },
  { name: "test_prompt_with_image", description: "A picture inside." },
  { name: "test_input_required_result_prompt", description: "Asks for its context." },
];

const says = (...contents: GetPromptResult["messages"][number]["content"][]): GetPromptResult => ({
  messages: contents.map((content) => ({ role: "user", content })),
});
const text = (words: string) => ({ type: "text", text: words }) as const;

export function getPrompt(
  name: string,
  args: Record<string, string>,
  ctx: ServerContext,
): GetPromptResult | InputRequiredResult {
  switch (name) {
    case "test_simple_prompt":
      return says(text("This is a simple prompt for testing."));
    case "test_prompt_with_arguments":
      return says(text(`Prompt with arguments: arg1='${args["arg1"]}', arg2='${args["arg2"]}'`));
    case "test_prompt_with_embedded_resource":
      return says(
        {
          type: "resource",
          resource: {
            uri: args["resourceUri"] ?? "",
            mimeType: "text/plain",
            text: "Embedded resource content for testing.",
          },
        },
        text("Please process the embedded resource above."),
      );
    case "test_prompt_with_image":
      return says(
        { type: "image", data: PNG, mimeType: "image/png" },
        text("Please analyze the image above."),
      );
    case "test_input_required_result_prompt": {
      const answer = inputResponse(ctx.mcpReq.inputResponses, "user_context");
      if (answer.kind === "elicit")
        return says(text(`Context: ${String(answer.content?.["context"])}`));
      const requestedSchema = {
        type: "object",
        properties: { context: { type: "string" } },
        required: ["context"],
      } as const;
      const message = "What context should the prompt use?";
      return inputRequired({
        inputRequests: {
          user_context: inputRequired.elicit({
            message,
            requestedSchema: { ...requestedSchema, required: ["context"] },
          }),
        },
      });
    }
    default:
      throw new ProtocolError(-32602, `Unknown prompt: ${name}`);
  }
}

const WORDS = ["paris", "park", "party"];

/** Proposals for any argument of any prompt or template. */
export const complete = (value: string) => {
  const values = WORDS.filter((word) => word.startsWith(value));
  return { completion: { values, total: values.length, hasMore: false } };
};

// Models for tools: the configured one that can do it, asked through the egress guard at its own address only.
import type { Call } from "../../../contract/call.ts";
import { faultOf } from "../../../contract/errors.ts";
import type { Egress, EgressRules } from "../../../reach/egress/egress.ts";
import type { Ability, Exchange, Models } from "../../../reach/models/model.ts";
import { ATTR, SPAN } from "../../../telemetry/names.ts";
import type { Attributes, Tracing } from "../../../telemetry/tracing.ts";
import type { ModelPower } from "../../../contract/powers/model.ts";

export interface ModelPowerSettings {
  readonly models: Models;
  readonly egress: Egress;
  /** Rules that let nothing pass but this address of the configuration. */
  readonly rulesFor: (url: string) => EgressRules;
  readonly tracing: Pick<Tracing, "client">;
}

/** What the conventions call it; they have no word for the last two. */
const OPERATIONS: Record<Ability, string> = {
  generate: "chat",
  look: "chat",
  embed: "embeddings",
  image: "generate_content",
  transcribe: "transcribe",
  speak: "speak",
};

/** Images and speech come whole. */
const MAX_ANSWER_BYTES = 104_857_600;

export function modelPower({ models, egress, rulesFor, tracing }: ModelPowerSettings) {
  return (call: Call, signal: AbortSignal): ModelPower => {
    const exchange: Exchange = async ({ url, method, headers, body }) => {
      const request = {
        url,
        method,
        headers,
        maxRedirects: 0,
        maxBytes: MAX_ANSWER_BYTES,
        ...(body === undefined ? {} : { body }),
      };
      const response = await egress.request(request, { rules: rulesFor(url), signal });
      const chunks: Uint8Array[] = [];
      for await (const chunk of response.body) chunks.push(chunk);
      return { status: response.status, headers: response.headers, bytes: Buffer.concat(chunks) };
    };
    async function asked<A extends Ability>(
      ability: A,
      request: Parameters<ModelPower[A]>[0],
      wanted?: string,
    ): Promise<Awaited<ReturnType<ModelPower[A]>>> {
      const { name, provider, adapter } = await models.choose(ability, wanted, exchange);
      const operation = OPERATIONS[ability];
      const span = tracing.client(call, {
        name: SPAN.model(operation, name),
        attributes: {
          [ATTR.operation]: operation,
          [ATTR.provider]: provider,
          [ATTR.requestModel]: name,
        },
      });
      try {
        // The adapter has it, or `choose` has thrown.
        const ask = adapter[ability] as (request: unknown) => ReturnType<ModelPower[A]>;
        const answer = await ask(request);
        span.end(usageOf(answer));
        return answer;
      } catch (cause) {
        span.end({}, faultOf(cause).reason);
        throw cause;
      }
    }
    return {
      generate: (request) => asked("generate", request, request.model),
      embed: (request) => asked("embed", request, request.model),
      image: (request) => asked("image", request),
      look: (request) => asked("look", request),
      transcribe: (request) => asked("transcribe", request),
      speak: (request) => asked("speak", request),
    };
  };
}

/** What the provider says it was: its own name for the model, and what it counted. */
function usageOf(answer: object): Attributes {
  const { model, usage } = answer as { model?: string; usage?: { input: number; output: number } };
  return {
    ...(model === undefined ? {} : { [ATTR.responseModel]: model }),
    ...(usage ? { [ATTR.inputTokens]: usage.input, [ATTR.outputTokens]: usage.output } : {}),
  };
}

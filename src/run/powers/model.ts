// Models for tools: the configured one that can do it, asked through the egress guard at its own address only.
import type { Call } from "../../call.ts";
import type { Egress, EgressRules } from "../../egress/egress.ts";
import type { Ability, Exchange, Models } from "../../model/model.ts";
import type { ModelPower } from "../../tools/powers/model.ts";

export interface ModelPowerSettings {
  readonly models: Models;
  readonly egress: Egress;
  /** Rules that let nothing pass but this address of the configuration. */
  readonly rulesFor: (url: string) => EgressRules;
}

/** Images and speech come whole. */
const MAX_ANSWER_BYTES = 104_857_600;

export function modelPower({ models, egress, rulesFor }: ModelPowerSettings) {
  return (_call: Call, signal: AbortSignal): ModelPower => {
    const exchange: Exchange = async ({ url, method, headers, body }) => {
      const request = { url, method, headers, maxRedirects: 0, maxBytes: MAX_ANSWER_BYTES, ...(body === undefined ? {} : { body }) };
      const response = await egress.request(request, { rules: rulesFor(url), signal });
      const chunks: Uint8Array[] = [];
      for await (const chunk of response.body) chunks.push(chunk);
      return { status: response.status, headers: response.headers, bytes: Buffer.concat(chunks) };
    };
    /** The adapter has it, or `choose` has thrown. */
    const able = async <A extends Ability>(ability: A, name?: string): Promise<ModelPower[A]> =>
      (await models.choose(ability, name, exchange)).adapter[ability] as ModelPower[A];
    return {
      generate: async (request) => (await able("generate", request.model))(request),
      embed: async (request) => (await able("embed", request.model))(request),
      image: async (request) => (await able("image"))(request),
      look: async (request) => (await able("look"))(request),
      transcribe: async (request) => (await able("transcribe"))(request),
      speak: async (request) => (await able("speak"))(request),
    };
  };
} // prettier-ignore

// Models for tools and agents: which one to call, through the egress guard at its own address only, with a span for
// each attempt.
import { AppError, faultOf } from "../../../contract/errors.ts";
import type { ModelCaller, ModelChoice, ModelPower } from "../../../contract/powers/model.ts";
import type { Egress, EgressRules } from "../../../reach/egress/egress.ts";
import { ask, type Watched } from "../../../reach/models/ask.ts";
import type { Ability } from "../../../reach/models/config.ts";
import { exchangeThrough } from "../../../reach/models/exchange.ts";
import type { Candidate, Models } from "../../../reach/models/model.ts";
import type { NamedModels } from "./capsule-models.ts";
import { costOf } from "../../../reach/models/prices.ts";
import { ATTR, SPAN } from "../../../telemetry/names.ts";
import type { Attributes, Tracing } from "../../../telemetry/tracing.ts";

export interface ModelPowerSettings {
  readonly models: Models;
  readonly egress: Pick<Egress, "request">;
  /** Rules that allow only this address of the configuration. */
  readonly rulesFor: (url: string) => EgressRules;
  readonly tracing: Pick<Tracing, "client">;
  readonly now: () => number;
  /** The model that the caller's capsules name; absent: capsules name none. */
  readonly named?: NamedModels;
  /** Longest silence in a stream; absent: a minute. */
  readonly idleMs?: number;
}

/** Its name in the conventions of OpenTelemetry; they have none for the last two. */
const OPERATIONS: Record<Ability, string> = {
  generate: "chat",
  look: "chat",
  embed: "embeddings",
  image: "generate_content",
  transcribe: "transcribe",
  speak: "speak",
};

type Request<A extends Ability> = Parameters<ModelPower[A]>[0];
type Answer<A extends Ability> = Awaited<ReturnType<ModelPower[A]>>;

export function modelPower(settings: ModelPowerSettings) {
  const { egress, rulesFor, idleMs, now } = settings;
  return (call: ModelCaller, signal: AbortSignal): ModelPower => {
    const exchange = exchangeThrough({ egress, rulesFor, signal, idleMs });
    // Work that outlives its call, as agents do, has a signal of its own and no time that is known here.
    const ends = signal === call.signal ? call.startedAt + call.timeoutMs : Infinity;
    async function asked<A extends Ability>(ability: A, request: Request<A>): Promise<Answer<A>> {
      const candidates = await candidatesFor(call, ability, request, settings);
      const { answer, candidate, attempts } = await ask(ability, request, candidates, {
        exchange,
        signal,
        leftMs: () => ends - now(),
        watch: (one) => watch(settings.tracing, call, ability, request, one),
      });
      const cost = costOf(ability, candidate.settings, answer);
      return { ...answer, cost, attempts } as unknown as Answer<A>;
    }
    return {
      generate: (request) => asked("generate", request),
      embed: (request) => asked("embed", request),
      image: (request) => asked("image", request),
      look: (request) => asked("look", request),
      transcribe: (request) => asked("transcribe", request),
      speak: (request) => asked("speak", request),
    };
  };
}

/** The model that was named by the caller, or by a capsule of theirs, or the tenant's best; then its fallbacks. */
async function candidatesFor<A extends Ability>(
  { caller }: ModelCaller,
  ability: A,
  request: Request<A>,
  { models, named }: Pick<ModelPowerSettings, "models" | "named">,
): Promise<readonly Candidate[]> {
  const { model, allowed }: ModelChoice = request;
  const choice = { ...(allowed && { allowed }), sees: isSeen(request) };
  if (model !== undefined) return models.candidates(caller.tenantId, ability, { ...choice, model });
  const byCapsule = (await named?.(caller, ability, choice.sees)) ?? null;
  if (!byCapsule) return models.candidates(caller.tenantId, ability, choice);
  try {
    const { model: wanted } = byCapsule;
    return await models.candidates(caller.tenantId, ability, { ...choice, model: wanted });
  } catch (cause) {
    const { code, reason, message } = faultOf(cause);
    throw new AppError(code, reason, `${message}, and ${byCapsule.field} names it`, {
      remedy: `name another model in ${byCapsule.field}, or add this one`,
      cause,
    });
  }
}

const isSeen = (request: object): boolean =>
  "messages" in request &&
  (request as Request<"generate">).messages.some(
    (message) => message.role === "user" && (message.images ?? []).length > 0,
  );

/** One span per attempt. */
function watch<A extends Ability>(
  tracing: Pick<Tracing, "client">,
  call: ModelCaller,
  ability: A,
  request: Request<A>,
  { name, settings }: Candidate,
): Watched {
  const started = performance.now();
  const timings: Record<string, number> = {};
  const span = tracing.client(call, {
    name: SPAN.model(OPERATIONS[ability], name),
    attributes: {
      [ATTR.operation]: OPERATIONS[ability],
      [ATTR.provider]: settings.provider,
      [ATTR.requestModel]: name,
      ...("maxTokens" in request && { [ATTR.requestMaxTokens]: request.maxTokens }),
      ...("onText" in request && { [ATTR.requestStream]: true }),
    },
  });
  return {
    began: () => void (timings[ATTR.firstChunk] = (performance.now() - started) / 1_000),
    ended: (answer) => span.end({ ...timings, ...usageOf(answer) }),
    failed: (reason) => span.end(timings, reason),
  };
}

/** What the provider reports: its own name for the model, and the tokens it counted. */
function usageOf(answer: object): Attributes {
  const { model, usage } = answer as { model?: string; usage?: { input: number; output: number } };
  return {
    ...(model === undefined ? {} : { [ATTR.responseModel]: model }),
    ...(usage ? { [ATTR.inputTokens]: usage.input, [ATTR.outputTokens]: usage.output } : {}),
  };
}

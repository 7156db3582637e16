// What a call would send: the request is made as the tool makes it, judged, and not sent.
import type { Call } from "../../../../contract/call.ts";
import type { HttpEffect } from "../../../../contract/effect.ts";
import type { FetchPower, WebRequest } from "../../../../contract/powers/web.ts";
import { decideUrl } from "../../../../reach/egress/decide-url.ts";
import type { EgressRules } from "../../../../reach/egress/egress.ts";
import { operationOf } from "../../../../reach/http-api/operation.ts";
import { buildRequest } from "../../../../reach/http-api/request.ts";
import type { Route } from "../../../../contract/tool.ts";
import type { Store } from "../../../../storage/store/store.ts";
import { withQuery } from "../fetch.ts";
import { NoPreview } from "./no-preview.ts";

/** Thrown instead of sending: what comes after depends on an answer that nobody has. */
export class NotSent extends Error {
  readonly effect: HttpEffect;

  constructor(effect: HttpEffect) {
    super("the request is not sent");
    this.effect = effect;
  }
}

/** A power that stops the tool at its first request. */
export function previewFetch(rules: EgressRules): FetchPower {
  const stop = (request: WebRequest): Promise<never> => Promise.reject(notSent(request, rules));
  const unseen = (): Promise<never> =>
    Promise.reject(new NoPreview("it asks a search provider, which changes nothing"));
  return { request: stop, stream: stop, readable: unseen, search: unseen };
}

function notSent({ method, url, query, body }: WebRequest, rules: EgressRules): NotSent {
  const address = withQuery(url, query);
  const verdict = decideUrl(address, rules);
  const { why, rule } = verdict;
  return new NotSent({
    kind: "http",
    method,
    url: address,
    host: URL.parse(address)?.hostname ?? "",
    verdict: verdict.kind === "allow" ? "run" : verdict.kind,
    ...(why === "" ? {} : { message: why }),
    rule: { at: rule.at, text: rule.text },
    bodyBytes: body === undefined ? 0 : Buffer.byteLength(body),
  });
}

/** An operation of an HTTP API: the server's own secrets are left out. */
export async function apiEffect(
  { arguments: args }: Call,
  route: Route,
  servers: Pick<Store["servers"], "get">,
): Promise<HttpEffect> {
  const row = await servers.get(route.server);
  if (row?.transport.kind !== "api")
    throw new NoPreview(`the server ${route.server} does not offer it any more`);
  const base = row.transport.url;
  const { method, url, body } = buildRequest(base, {}, operationOf(route.operation), args);
  return {
    kind: "http",
    method,
    url,
    host: URL.parse(url)?.hostname ?? "",
    verdict: "run",
    rule: { at: `server ${route.server}`, text: `an administrator added ${base}` },
    bodyBytes: body === undefined ? 0 : Buffer.byteLength(body),
  };
}

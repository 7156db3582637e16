// Where messages may go. An administrator's endpoint: any public host over https, and private ones that the operator
// named.
import type { EgressRules } from "../egress/egress.ts";
import { rulesForOperator } from "../egress/operator.ts";
import type { WebhookRow } from "../../storage/store/store.ts";

export function rulesFor(
  { url, origin }: Pick<WebhookRow, "url" | "origin">,
  privateHosts: readonly string[],
): EgressRules {
  if (origin === "configuration") return rulesForOperator(url);
  const to = URL.parse(url);
  const port = Number(to?.port || (to?.protocol === "http:" ? 80 : 443));
  const isNamed = (host: string, at: number): boolean => privateHosts.includes(`${host}:${at}`);
  const named = to !== null && isNamed(to.hostname.replace(/\.$/, ""), port);
  const rule = {
    at: "webhooks.privateHosts",
    text: "public hosts over https, and those named there",
  };
  return {
    // Signed is not secret: plain http stays inside.
    schemes: named ? ["https", "http"] : ["https"],
    ports: [port],
    policy: "public",
    isBlocked: () => false,
    isAllowed: () => true,
    isExcepted: isNamed,
    judged: new Set(),
    ruleOf: () => rule,
  };
}

// The page where a person decides one call. Its address is a name and no right: it opens for signed-in people only, and
// answers are taken from our own page alone.
import { type Context, Hono } from "hono";
import type { ApprovalView } from "../../governance/approvals/approval.ts";
import type { Caller, Json, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { visible } from "../../util/text/visible.ts";
import { iso } from "../api/shapes.ts";
import { refusePage } from "./console.ts";
import type { Doors } from "../doors.ts";
import { facts, html, type Html, layout, NOTHING, pageHeaders } from "./html.ts";
import { admit, parseBody, readForm, requestIdOf, type WebEnv } from "../http/request.ts";

const MAX_FORM_BYTES = 1_048_576;
const MAX_COMMENT = 1_000;
/** How often the page looks whether a call that was agreed to has ended, and for how long after the decision. */
const LOOK_EVERY_SECONDS = 2;
const LOOK_FOR_MS = 600_000;

export function createApprovalPages(doors: Doors): Hono<WebEnv> {
  const app = new Hono<WebEnv>();
  app.onError((cause, c) => refusePage(c, doors, cause));
  const back = (c: Context<WebEnv>, id: string): Response => c.redirect(`/a/${id}`, 303);

  app.get("/a/:id", async (c) => {
    const caller = await admit(doors, c, "GET");
    const approval = await doors.approvals.show(caller, c.req.param("id"));
    const outcome = await outcomeOf(doors, caller, approval);
    const text = layout(`Approval ${approval.id}`, body(approval, { doors, caller, outcome }), {
      refreshSeconds: outcome?.mayChange ? LOOK_EVERY_SECONDS : 0,
    });
    return c.body(text, 200, { ...pageHeaders(), "Request-Id": requestIdOf(c, doors) });
  });
  app.post("/a/:id/approve", async (c) => {
    const caller = await admit(doors, c, "POST");
    const form = await readVote(c);
    const edited = form.edited === "" ? {} : { arguments: argumentsOf(form.edited) };
    const { id } = await doors.approvals.approve(caller, c.req.param("id"), {
      ...form.vote,
      ...edited,
    });
    return back(c, id);
  });
  app.post("/a/:id/deny", async (c) => {
    const caller = await admit(doors, c, "POST");
    const { vote } = await readVote(c);
    const { id } = await doors.approvals.decline(caller, c.req.param("id"), vote);
    return back(c, id);
  });
  return app;
}

async function readVote(c: Context<WebEnv>) {
  const fields = await readForm(c, MAX_FORM_BYTES);
  const comment = (fields.get("comment") ?? "").trim().slice(0, MAX_COMMENT);
  const version = fields.get("version");
  const vote = { ...(comment === "" ? {} : { comment }), ...(version === null ? {} : { version }) };
  return { vote, edited: (fields.get("arguments") ?? "").trim() };
}

function argumentsOf(text: string): JsonObject {
  const value: Json = parseBody(Buffer.from(text));
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as JsonObject;
  throw new AppError("BAD_REQUEST", "invalid_input", "arguments: expected one JSON object", {
    errors: [{ path: "/arguments", message: "expected one JSON object" }],
  });
}

interface Outcome {
  readonly text: Html;
  /** The call has not ended, and the decision is not long ago. */
  readonly mayChange: boolean;
}

/** What became of the call once it was decided; null before. */
async function outcomeOf(doors: Doors, caller: Caller, a: ApprovalView): Promise<Outcome | null> {
  const found = a.state === "pending" ? null : await doors.history.progress(caller, a.executionId);
  if (!found) return null;
  const { status, endTime, executionTime, error, errorCode, errorReason } = found;
  const isOver = endTime !== null;
  const codes = [errorCode, errorReason].filter((code) => code !== null).join(" / ");
  const how = error === null ? "" : `: ${visible(error)}`;
  const took = status === "success" ? `: it ran for ${Math.round(executionTime ?? 0)} ms` : "";
  const wait = status === "pending" ? ": it is about to run" : ": it has not ended yet";
  const own = await doors.history.read(caller, a.executionId);
  const text = html`
    <h2>Outcome</h2>
    <p><strong>${status}</strong>${how}${took}${isOver ? "" : wait}</p>
    ${codes === "" ? NOTHING : html`<p><code>${codes}</code></p>`}
    ${own ? html`<p><a href="/x/${a.executionId}">The record of this call</a></p>` : NOTHING}
  `;
  const since = doors.now() - (a.decidedAt ?? a.createdAt);
  return { text, mayChange: !isOver && since < LOOK_FOR_MS };
}

interface Reading {
  readonly doors: Doors;
  readonly caller: Caller;
  readonly outcome: Outcome | null;
}

function body(a: ApprovalView, { doors, caller, outcome }: Reading): Html {
  const left = Math.max(0, Math.round((a.expiresAt - doors.now()) / 1000));
  const agreed = a.needed > 1 ? `, ${a.votes.length} of ${a.needed} people agreed` : "";
  const edited = a.editedArguments;
  return html`
    <p><a href="/">Ostiary</a></p>
    <h1>${a.requester} wants to run ${a.toolName}</h1>
    ${outcome?.text ?? NOTHING}
    <ul>
      ${a.reasons.map(({ message, rule }) => html`<li>${visible(message)}${rule === undefined ? "" : ` (${rule})`}</li>`)}
    </ul>
    <h2>Arguments</h2>
    <pre>${json(a.arguments)}</pre>
    ${
      edited === null
        ? NOTHING
        : html`<h2>Arguments, edited by an approver</h2>
            <pre>${json(edited)}</pre>`
    }
    <p>Secret-like values are masked; characters that do not show are written out.</p>
    ${facts([
      ["state", a.state + (a.selfApproved ? ", self-approved" : "") + agreed],
      ["asked by", `${a.requester} (key ${a.keyId ?? "none"}, capsule ${a.capsuleId ?? "none"})`],
      ["tool", a.toolName],
      ["risk", a.risk],
      ["asked at", iso(a.createdAt)],
      ["runs out at", iso(a.expiresAt) + (a.state === "pending" ? ` (${left} s left)` : "")],
      ["policy", a.policyVersion],
      ["tool pin", a.toolPin],
      ["execution", a.executionId],
    ])}
    ${votes(a)} ${a.mayDecide && a.requester === caller.userId ? OWN : NOTHING}
    ${a.mayDecide ? forms(a) : html`<p>${whyNot(a, caller)}.</p>`}
  `;
}

const OWN = html`<p>
  <strong>You asked for this yourself.</strong> If you agree, it is recorded as self-approved.
</p>`;

function votes(a: ApprovalView): Html {
  const shown = a.votes.map(({ userId, decision, comment, at }) => {
    return html`<li>
      ${userId}: ${decision}${comment === null ? "" : ` – ${visible(comment)}`} (${iso(at)})
    </li>`;
  });
  return shown.length === 0
    ? NOTHING
    : html`<h2>Votes</h2>
        <ul>
          ${shown}
        </ul>`;
}

function whyNot(a: ApprovalView, { userId }: Caller): string {
  const own = a.votes.find((vote) => vote.userId === userId);
  if (own) return own.decision === "approve" ? "You agreed to this call" : "You declined this call";
  return `You cannot decide it: ${a.mayNot ?? "it is not pending"}`;
}

/** Saying no comes first, and nothing is focused: a stray Enter must not agree to anything. */
function forms(a: ApprovalView): Html {
  const version = html`<input type="hidden" name="version" value="${a.version}" />`;
  const comment = html`<p>
    <label
      >Comment, told to the caller<br /><textarea
        name="comment"
        rows="2"
        maxlength="${MAX_COMMENT}"
      ></textarea>
    </label>
  </p>`;
  return html`
    <h2>Decide</h2>
    <form method="post" action="/a/${a.id}/deny">
      ${version}${comment}
      <p><button>Deny</button></p>
    </form>
    <hr />
    <form method="post" action="/a/${a.id}/approve">
      ${version}${comment}
      <details>
        <summary>Run with other arguments</summary>
        <p>
          <label
            >JSON; leave the masks where they are to keep the secrets, leave it empty to change
            nothing<br /><textarea name="arguments" rows="8"></textarea>
          </label>
        </p>
      </details>
      <p><button>Approve this one call</button></p>
    </form>
  `;
}

const json = (value: JsonObject): string => visible(JSON.stringify(value, null, 2));

// The page where a person decides one call. Its address is a name and no right: it opens for signed-in people only, and
// answers are taken from our own page alone.
import { type Context, Hono } from "hono";
import type { ApprovalView } from "../approval/approval.ts";
import type { Json, JsonObject } from "../call.ts";
import { AppError } from "../errors.ts";
import { visible } from "../util/visible.ts";
import { iso } from "./api/shapes.ts";
import { refusePage } from "./console.ts";
import type { Doors } from "./doors.ts";
import { html, type Html, layout, pageHeaders } from "./html.ts";
import { admit, parseBody, requestIdOf, type WebEnv } from "./request.ts";

const MAX_FORM_BYTES = 1_048_576;
const MAX_COMMENT = 1_000;

export function createApprovalPages(doors: Doors): Hono<WebEnv> {
  const app = new Hono<WebEnv>();
  app.onError((cause, c) => refusePage(c, doors, cause));
  const back = (c: Context<WebEnv>, id: string): Response => c.redirect(`/a/${id}`, 303);

  app.get("/a/:id", async (c) => {
    const caller = await admit(doors, c, "GET");
    const approval = await doors.approvals.show(caller, c.req.param("id"));
    return c.body(layout(`Approval ${approval.id}`, body(approval, doors)), 200, {
      ...pageHeaders(),
      "Request-Id": requestIdOf(c, doors),
    });
  });
  app.post("/a/:id/approve", async (c) => {
    const caller = await admit(doors, c, "POST");
    const form = await readForm(c);
    const edited = form.edited === "" ? {} : { arguments: argumentsOf(form.edited) };
    const { id } = await doors.approvals.approve(caller, c.req.param("id"), {
      ...form.vote,
      ...edited,
    });
    return back(c, id);
  });
  app.post("/a/:id/deny", async (c) => {
    const caller = await admit(doors, c, "POST");
    const { vote } = await readForm(c);
    const { id } = await doors.approvals.decline(caller, c.req.param("id"), vote);
    return back(c, id);
  });
  return app;
}

async function readForm(c: Context<WebEnv>) {
  const length = Number(c.req.header("content-length") ?? Number.NaN);
  // Browsers say how long a form is; anything else is no form of ours.
  if (!(length <= MAX_FORM_BYTES))
    throw new AppError(
      "PAYLOAD_TOO_LARGE",
      "body_too_large",
      `The form is larger than ${MAX_FORM_BYTES} bytes`,
    );
  const type = (c.req.header("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded")
    throw new AppError(
      "UNSUPPORTED_MEDIA_TYPE",
      "content_type",
      `Content type '${type ?? ""}' is not understood`,
      { remedy: "use the form of the page" },
    );
  const fields = new URLSearchParams(await c.req.text());
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

function body(a: ApprovalView, doors: Doors): Html {
  const left = Math.max(0, Math.round((a.expiresAt - doors.now()) / 1000));
  const until = a.state === "pending" ? ` (${left} s left)` : "";
  const rows: [string, string][] = [
    [
      "state",
      `${a.state}${a.needed > 1 ? `, ${a.votes.length} of ${a.needed} people agreed` : ""}`,
    ],
    ["asked by", `${a.requester} (key ${a.keyId ?? "none"}, capsule ${a.capsuleId ?? "none"})`],
    ["tool", a.toolName],
    ["risk", a.risk],
    ["asked at", iso(a.createdAt)],
    ["runs out at", `${iso(a.expiresAt)}${until}`],
    ["policy", a.policyVersion],
    ["tool pin", a.toolPin],
    ["execution", a.executionId],
  ];
  return html`
    <p><a href="/">Ostiary</a></p>
    <h1>${a.requester} wants to run ${a.toolName}</h1>
    <ul>
      ${a.reasons.map(({ message, rule }) => html`<li>${visible(message)}${rule === undefined ? "" : ` (${rule})`}</li>`)}
    </ul>
    <h2>Arguments</h2>
    <pre>${json(a.arguments)}</pre>
    ${
      a.editedArguments === null
        ? html``
        : html`<h2>Arguments, edited by an approver</h2>
            <pre>${json(a.editedArguments)}</pre>`
    }
    <p>Secret-like values are masked; characters that do not show are written out.</p>
    <table>
      <tbody>
        ${rows.map(
          ([name, value]) =>
            html`<tr>
              <th>${name}</th>
              <td>${value}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${
      a.votes.length === 0
        ? html``
        : html`<h2>Votes</h2>
            <ul>
              ${a.votes.map((vote) => html`<li>${vote.userId}: ${vote.decision}${vote.comment === null ? "" : ` – ${visible(vote.comment)}`} (${iso(vote.at)})</li>`)}
            </ul>`
    }
    ${a.mayDecide ? forms(a) : html`<p>You cannot decide it: ${a.mayNot ?? "it is not pending"}.</p>`}
  `;
}

/** Saying no comes first, and nothing is focused: a stray Enter must not agree to anything. */
function forms(a: ApprovalView): Html {
  const version = html`<input type="hidden" name="version" value="${a.version}" />`;
  const comment = html`<p>
    <label
      >Comment, told to the caller<br /><textarea
        name="comment"
        rows="2"
        cols="60"
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
            nothing<br /><textarea name="arguments" rows="8" cols="80"></textarea>
          </label>
        </p>
      </details>
      <p><button>Approve this one call</button></p>
    </form>
  `;
}

const json = (value: JsonObject): string => visible(JSON.stringify(value, null, 2));

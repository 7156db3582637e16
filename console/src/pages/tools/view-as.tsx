// Through whose eyes the catalogue is seen: another user or key, capsule, chat session, mode, time.
import { useNavigate } from "@tanstack/react-router";
import { api, type Outputs } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { useIsAdmin } from "../../app/session.tsx";
import { Button } from "../../ui/button.tsx";
import { CallerSelect } from "../../ui/caller-select.tsx";
import { Select, TextField } from "../../ui/field.tsx";
import { Card } from "../../ui/page.tsx";
import { type CatalogueSearch, isSupposed, MODES } from "./search.ts";

export function ViewAs({
  search,
  who,
}: {
  readonly search: CatalogueSearch;
  readonly who: Outputs["tools"]["viewCatalogue"]["who"] | undefined;
}) {
  const navigate = useNavigate({ from: "/tools" });
  const isAdmin = useIsAdmin();
  const capsules = useData(
    ["capsules", "choice"],
    (signal) => api.capsules.listCapsules.query({ limit: 100 }, { signal }),
    { enabled: isAdmin },
  );
  const set = (next: CatalogueSearch): void =>
    void navigate({ search: (now) => ({ ...now, ...next }), replace: true });
  return (
    <Card>
      <div className="grid gap-3 sm:grid-cols-2 xl:grid-cols-[minmax(13rem,1.3fr)_repeat(3,1fr)_minmax(13rem,1.2fr)]">
        <CallerSelect
          label="User or key"
          value={search.as ?? ""}
          onChange={(as) => set({ as: as || undefined })}
        />
        {isAdmin ? (
          <Select
            label="Capsule"
            value={search.capsule ?? ""}
            options={[
              ["", "that of the key"],
              ...(capsules.data?.items ?? []).map(({ id, name }) => [id, name] as const),
            ]}
            disabled={search.session !== undefined}
            onChange={(event) => set({ capsule: event.target.value || undefined })}
          />
        ) : null}
        <Select
          label="Mode"
          value={search.mode ?? ""}
          options={[["", "as it is"], ...MODES.map((mode) => [mode, mode] as const)]}
          onChange={(event) => set({ mode: MODES.find((mode) => mode === event.target.value) })}
        />
        <TextField
          key={search.session ?? ""}
          label="Chat session"
          placeholder="id of a session"
          defaultValue={search.session ?? ""}
          onBlur={(event) => set({ session: event.target.value.trim() || undefined })}
        />
        {isAdmin ? (
          <TextField
            key={search.at ?? ""}
            label="Time"
            type="datetime-local"
            defaultValue={search.at === undefined ? "" : localTime(search.at)}
            onBlur={(event) =>
              set({
                at:
                  event.target.value === ""
                    ? undefined
                    : new Date(event.target.value).toISOString(),
              })
            }
          />
        ) : null}
      </div>
      {isSupposed(search) && who ? (
        <p role="status" className="mt-3 flex flex-wrap items-center gap-2 text-muted">
          <span>
            Seen as <strong className="text-text">{who.userId}</strong>
            {who.keyId === null ? "" : `, key ${who.keyId}`}
            {who.capsuleId === null ? "" : `, capsule ${who.capsuleId}`}
          </span>
          <Button
            small
            onClick={() =>
              set({
                as: undefined,
                capsule: undefined,
                session: undefined,
                mode: undefined,
                at: undefined,
              })
            }
          >
            Back to my own view
          </Button>
        </p>
      ) : null}
    </Card>
  );
}

/** As the field wants it: without a zone, in that of the browser. */
export function localTime(at: string): string {
  if (Number.isNaN(Date.parse(at))) return "";
  const time = new Date(at);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

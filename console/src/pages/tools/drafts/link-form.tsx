// On which terms a version may be called, and by whom. What is granted stands below it in one sentence.
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { useChange, useData } from "../../../api/query.ts";
import { Check, Select, TextField } from "../../../ui/field.tsx";
import { faultsOf, Form } from "../../../ui/form.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { notify } from "../../../ui/toast.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { DECIDED, type Link, notPassed, type Review } from "./data.ts";
import { grantSentence } from "./grant-sentence.ts";

type Risk = "safe" | "moderate" | "dangerous";
type Workspace = NonNullable<Link["workspace"]>;

export function LinkForm({
  review,
  onClose,
}: {
  readonly review: Review;
  readonly onClose: () => void;
}) {
  const { id, name, version, hash, versions, terms, proposedRisk } = review;
  const [capsules, setCapsules] = useState<readonly string[]>([]);
  const [grant, setGrant] = useState<"members" | "none">("members");
  const [risk, setRisk] = useState<Risk>(terms?.risk ?? "dangerous");
  const [workspace, setWorkspace] = useState<Workspace | null>(terms?.workspace ?? null);
  const [hostText, setHostText] = useState(terms?.hosts.join(" ") ?? "");
  const [approval, setApproval] = useState<boolean | null>(terms?.requiresApproval ?? null);
  const [accepts, setAccepts] = useState(false);
  const choices = useCapsules();
  const hosts = hostText.split(/[\s,]+/).filter((host) => host !== "");
  // As the server itself would choose: what it reads it could send.
  const files = workspace ?? (hosts.length > 0 ? "none" : "ro");
  const requiresApproval = approval ?? risk === "dangerous";
  const instead = versions.find(({ state }) => state === "linked")?.version;
  const dangers = dangersOf(review, { files, hosts });
  const link = useChange((how: Link) => api.toolDrafts.linkToolDraft.mutate(how), {
    quiet: true,
    refreshes: DECIDED,
    onDone: (linked) => {
      onClose();
      notify(`${name} ${version} is linked`, {
        ...(linked.capsules.length === 0 ? {} : { detail: `In ${linked.capsules.join(", ")}` }),
      });
    },
  });
  const fault = faultsOf(link.error);
  const submit = (): void =>
    link.mutate({
      ...{ id, risk, workspace: files, hosts, requiresApproval, expectedHash: hash },
      ...(capsules.length === 0 ? {} : { capsules: [...capsules], grant }),
      ...(dangers.length === 0 ? {} : { evenWithFindings: accepts }),
    });
  const nameOf = (capsule: string): string =>
    choices.data?.items.find((one) => one.id === capsule)?.name ?? capsule;
  const isLinkedNowhere = capsules.length === 0 && instead === undefined;
  return (
    <Form
      submit="Link it"
      onSubmit={submit}
      onCancel={onClose}
      busy={link.isPending}
      disabled={isLinkedNowhere || (dangers.length > 0 && !accepts)}
      cause={link.error}
    >
      <fieldset className="flex flex-col gap-1">
        <legend className="text-[13px] font-medium">
          Capsules that get it
          {instead === undefined ? "" : ` (none: those that have ${instead} keep it)`}
        </legend>
        <Loaded query={choices} skeleton={<Skeleton className="h-12 w-full" />}>
          {({ items }) => (
            <div className="grid max-h-40 gap-x-4 gap-y-1 overflow-y-auto sm:grid-cols-2">
              {items.map((capsule) => (
                <Check
                  key={capsule.id}
                  label={visibleText(capsule.name)}
                  checked={capsules.includes(capsule.id)}
                  onChange={(event) =>
                    setCapsules(
                      event.target.checked
                        ? [...capsules, capsule.id]
                        : capsules.filter((one) => one !== capsule.id),
                    )
                  }
                />
              ))}
            </div>
          )}
        </Loaded>
        {fault("/capsules") === undefined ? null : (
          <p className="text-xs text-deny">{fault("/capsules")}</p>
        )}
      </fieldset>
      <div className="grid gap-3 sm:grid-cols-2">
        <Select
          label="Risk"
          value={risk}
          hint={`The draft proposes ${proposedRisk ?? "no risk"}; dangerous needs the level admin`}
          options={(["safe", "moderate", "dangerous"] as const).map((word) => [word, word])}
          onChange={(event) => setRisk(event.target.value as Risk)}
        />
        <Select
          label="Who may call it at once"
          value={grant}
          disabled={capsules.length === 0}
          options={[
            ["members", "every member of the tenant"],
            ["none", "nobody yet"],
          ]}
          onChange={(event) => setGrant(event.target.value as "members" | "none")}
        />
        <Select
          label="Workspace"
          value={files}
          options={[
            ["none", "no access"],
            ["ro", "may read"],
            ["rw", "may read and write"],
          ]}
          onChange={(event) => setWorkspace(event.target.value as Workspace)}
        />
        <TextField
          label="Hosts"
          value={hostText}
          fault={fault("/hosts")}
          hint="Such as api.example.org, with spaces between them; none: no network at all"
          onChange={(event) => setHostText(event.target.value)}
        />
      </div>
      <Check
        label="A person is asked about every call"
        checked={requiresApproval}
        onChange={(event) => setApproval(event.target.checked)}
      />
      {dangers.length === 0 ? null : (
        <div className="flex flex-col gap-2 rounded-md bg-deny-soft p-3">
          <ul className="list-disc pl-5">
            {dangers.map((danger) => (
              <li key={danger}>{danger}</li>
            ))}
          </ul>
          <Check
            label="I have read this and link it all the same"
            checked={accepts}
            onChange={(event) => setAccepts(event.target.checked)}
          />
        </div>
      )}
      <p role="status" aria-label="What is granted" className="rounded-md bg-raised p-3">
        {grantSentence({
          ...{ name, version, instead, grant, risk, requiresApproval, hosts },
          capsules: capsules.map(nameOf),
          workspace: files,
        })}
      </p>
    </Form>
  );
}

const useCapsules = () =>
  useData(["capsules", "choices"], (signal) =>
    api.capsules.listCapsules.query({ limit: 100 }, { signal }),
  );

/** What the server refuses unless somebody says that they know it. */
function dangersOf(
  review: Review,
  { files, hosts }: { readonly files: Workspace; readonly hosts: readonly string[] },
): readonly string[] {
  const { findingList, testResults } = review;
  const failed = notPassed(review);
  return [
    ...(failed === 0 ? [] : [`${failed} of ${testResults.length} tests did not pass`]),
    ...findingList
      .filter(({ severity }) => severity === "danger")
      .map(
        ({ message, line }) => `${visibleText(message)}${line === null ? "" : ` (line ${line})`}`,
      ),
    ...(files === "rw" && hosts.length > 0
      ? ["It would read and write the workspace and reach the network"]
      : []),
  ];
}

// What can be decided about a version as it stands.
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { ConfirmButton, Dialog } from "../../../ui/dialog.tsx";
import { TextArea } from "../../../ui/field.tsx";
import { Form } from "../../../ui/form.tsx";
import { notify } from "../../../ui/toast.tsx";
import { DECIDED, type Review } from "./data.ts";
import { LinkForm } from "./link-form.tsx";
import { mayRollBack, RollBackButton } from "./roll-back.tsx";

export function Decide({ review }: { readonly review: Review }) {
  const { state } = review;
  if (state === "linked") return <UnlinkButton review={review} />;
  return (
    <>
      {state === "pending_link" ? <RejectButton review={review} /> : null}
      {mayRollBack(review, review.versions) ? <RollBackButton draft={review} /> : null}
      {state === "rejected" ? null : <LinkButton review={review} />}
    </>
  );
}

function LinkButton({ review }: { readonly review: Review }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button look="primary" onClick={() => setOpen(true)}>
        Link…
      </Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        size="large"
        title={`Link ${visibleText(review.name)} ${review.version}`}
        lead="What is linked is exactly what this page shows."
      >
        <LinkForm review={review} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function RejectButton({ review: { id, name, version } }: { readonly review: Review }) {
  const [isOpen, setOpen] = useState(false);
  const [reason, setReason] = useState("");
  const reject = useChange(
    () => api.toolDrafts.rejectToolDraft.mutate({ id, reason: reason.trim() }),
    {
      quiet: true,
      refreshes: DECIDED,
      onDone: () => {
        setOpen(false);
        notify(`${name} ${version} is rejected`);
      },
    },
  );
  return (
    <>
      <Button look="danger" onClick={() => setOpen(true)}>
        Reject…
      </Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title={`Reject ${visibleText(name)} ${version}?`}
        lead="This cannot be taken back: it has to be drafted again, as another version."
      >
        <Form
          submit="Reject it"
          danger
          onSubmit={() => reject.mutate(undefined)}
          onCancel={() => setOpen(false)}
          busy={reject.isPending}
          disabled={reason.trim() === ""}
          cause={reject.error}
        >
          <TextArea
            label="Reason"
            hint="Kept with the version and on the record"
            required
            maxLength={500}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        </Form>
      </Dialog>
    </>
  );
}

function UnlinkButton({ review: { id, name, version } }: { readonly review: Review }) {
  const unlink = useChange(() => api.toolDrafts.unlinkToolDraft.mutate({ id }), {
    refreshes: DECIDED,
    onDone: () => notify(`${name} ${version} is unlinked`),
  });
  return (
    <ConfirmButton
      label="Unlink"
      question={`Unlink ${visibleText(name)} ${version}?`}
      explain="From the next call on it exists for nobody: it is taken out of every capsule, and everybody’s rights to it are taken away. It can be linked again, with capsules chosen anew."
      confirm="Unlink it"
      busy={unlink.isPending}
      onConfirm={() => unlink.mutate(undefined)}
    />
  );
}

// All versions of a name, newest first, and the way back to an earlier one.
import { Link } from "@tanstack/react-router";
import { Time } from "../../../ui/time.tsx";
import type { Review } from "./data.ts";
import { mayRollBack, RollBackButton } from "./roll-back.tsx";
import { DraftBadge } from "./state.tsx";

export function Versions({ review }: { readonly review: Review }) {
  return (
    <ul aria-label="Versions">
      {review.versions.map((version) => (
        <li
          key={version.id}
          className="flex flex-wrap items-center gap-2 border-b border-line/60 px-4 py-2 last:border-0"
        >
          {version.id === review.id ? (
            <strong>{version.version}</strong>
          ) : (
            <Link to="/tools/drafts" search={{ draft: version.id }}>
              {version.version}
            </Link>
          )}
          <DraftBadge state={version.state} />
          <span className="text-muted">
            <Time at={version.createdAt} /> by {version.author}
          </span>
          {mayRollBack(version, review.versions) ? (
            <span className="ml-auto">
              <RollBackButton draft={version} small />
            </span>
          ) : null}
        </li>
      ))}
    </ul>
  );
}

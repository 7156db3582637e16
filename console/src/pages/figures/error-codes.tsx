// Errors by code: bars with their numbers, which is a table already.
import { HrefLink } from "../../ui/href-link.tsx";
import { Card } from "../../ui/page.tsx";
import { executionsPath } from "./executions-path.ts";
import type { Range } from "./range.ts";
import { figuresRoute } from "./routes.ts";
import type { Series } from "./series.ts";

export function ErrorCodes({ series, range }: { readonly series: Series; readonly range: Range }) {
  const search = figuresRoute.useSearch();
  const { codes, isCut } = series.errors;
  const most = codes[0]?.count ?? 1;
  return (
    <Card title="Errors by code">
      {codes.length === 0 ? (
        <p className="py-10 text-center text-muted">No call failed in this time</p>
      ) : (
        <table aria-label="Errors by code" className="w-full table-fixed">
          <tbody>
            {codes.map(({ code, count }) => (
              <tr key={code}>
                <th
                  scope="row"
                  className="w-48 truncate py-1 pr-3 text-left font-normal max-sm:w-36"
                >
                  <HrefLink href={executionsPath(range, search, { errorCode: code })}>
                    <code>{code}</code>
                  </HrefLink>
                </th>
                <td aria-hidden="true" className="py-1">
                  <span
                    className="block h-3 min-w-0.5 rounded-sm bg-deny/70"
                    style={{ width: `${(count / most) * 100}%` }}
                  />
                </td>
                <td className="w-20 py-1 pl-3 text-right tabular-nums">
                  {count.toLocaleString("en")}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {isCut ? (
        <p className="text-xs text-muted">Some codes were counted up to 10,000 only.</p>
      ) : null}
    </Card>
  );
}

import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { type CatalogueSearch, viewOf } from "./search.ts";

/** The catalogue as somebody would meet it. */
export function useCatalogue(search: CatalogueSearch) {
  const view = viewOf(search);
  return useData(
    ["tools", "catalogue", view],
    (signal) => api.tools.viewCatalogue.query(view, { signal }),
    { keepPrevious: true },
  );
}

/** Search, order and page of the rows of one map: in the address, under names of their own. */
import { useState } from "react";

import { useListAddress, type ListAddress } from "@/components/ui/list-tools";

/** Beside all else on the page, fewer than a list has. */
export const ROWS = 20;

/** A cursor is a place among the rows of one map: of another map one begins at the first. */
export function useRowsAddress(map: string, prefix: string, ordering = ""): ListAddress {
  const address = useListAddress([], ordering, prefix);
  const [pagedIn, setPagedIn] = useState(map);
  return {
    ...address,
    cursor: pagedIn === map ? address.cursor : "",
    set: (change) => {
      setPagedIn(map);
      address.set(change);
    },
  };
}

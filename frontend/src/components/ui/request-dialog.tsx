/** A list whose dialog asks for the next of its kind: the dialog is open by the address, and runs
 * that have not ended stand above the list. */
import { Link, useSearchParams } from "react-router";

import { ACTIVE, useLive, type RunNews } from "@/api/live";
import { Icon } from "@/components/ui/icons";
import { to } from "@/lib/kinds";

/**
 * `name` stands in the address while the dialog is open; `about`, what it is asked about, goes away
 * with it.
 */
export function useRequestDialog(name: string, about: readonly string[] = []) {
  const [params, setParams] = useSearchParams();
  const ask = (open: boolean) =>
    setParams(
      (old) => {
        const next = new URLSearchParams(old);
        for (const each of about) next.delete(each);
        if (open) next.set(name, "1");
        else next.delete(name);
        return next;
      },
      { replace: true },
    );
  return { isOpen: params.has(name), params, ask };
}

/** Runs of one kind in one system that have not ended; `more` is what is known of each beside its
 * state. */
export function ActiveRuns({
  kind,
  system,
  more = () => "",
}: {
  kind: string;
  /** Its id. */
  system: string;
  more?: (run: RunNews) => string;
}) {
  const runs = useLive((all) => all.runs);
  return Object.values(runs)
    .filter((run) => run.kind === kind && run.system === system && ACTIVE.includes(run.state))
    .map((run) => (
      <div className="note" key={run.id}>
        <Icon name="progress" />
        <span>
          <Link to={to.run(run.id)}>R-{run.number}</Link> is {run.state}
          {more(run)}.
        </span>
      </div>
    ));
}

/** An address that leads nowhere. */
import { Link } from "react-router";

import { PageHead } from "@/components/ui/page";
import { Empty } from "@/components/ui/panel";

export function NotFound() {
  return (
    <>
      <PageHead title="Not found" />
      <div className="main">
        <section className="panel">
          <Empty
            command={
              <Link className="btn" to="/">
                Home
              </Link>
            }
          >
            Nothing is at this address. It may have been deleted, or the link is wrong.
          </Empty>
        </section>
      </div>
    </>
  );
}

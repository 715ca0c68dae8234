/** A page that breaks says so and leaves the frame standing. */
import { Component } from "react";

import { Failure } from "@/components/ui/panel";

type Props = { children: React.ReactNode };

export class PageErrorBoundary extends Component<Props, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <div className="main">
        <section className="panel">
          <Failure
            error={error}
            what="This page"
            retry={() => {
              this.setState({ error: null });
            }}
          />
        </section>
      </div>
    );
  }
}

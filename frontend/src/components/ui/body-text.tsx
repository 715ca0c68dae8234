/** The body of a request or an answer, JSON laid out. */
import "./body-text.css";

import { Scroll } from "./scroll";

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Cut off, or no JSON: as it is.
    return text;
  }
}

export function BodyText({ title, text }: { title: string; text: string }) {
  return (
    <div>
      <h3 className="checkshead">{title}</h3>
      {text === "" ? (
        <p className="muted">Empty.</p>
      ) : (
        <Scroll label={title} maxHeight={320}>
          <pre className="bodytext">{pretty(text)}</pre>
        </Scroll>
      )}
    </div>
  );
}

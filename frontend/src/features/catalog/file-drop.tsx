/** A CSV file, chosen or dropped. */
import { useId, useState } from "react";

import { Icon } from "@/components/ui/icons";

export function FileDrop({
  state,
  error,
  onFile,
  children,
}: {
  /** What became of the file; empty while there is none. */
  state: string;
  error?: string;
  onFile: (file: File | undefined) => void;
  /** Other ways to give the table, and hints. */
  children?: React.ReactNode;
}) {
  const id = useId();
  const [over, setOver] = useState(false);
  return (
    <div
      className={over ? "dropzone over" : "dropzone"}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onFile(event.dataTransfer.files[0]);
      }}
    >
      <div className="filepick">
        <input
          id={id}
          className="vh"
          type="file"
          accept=".csv,.tsv,.txt,text/csv,text/plain"
          data-autofocus
          aria-describedby={`${id}-state`}
          aria-invalid={error ? true : undefined}
          onClick={(event) => {
            // The same file, saved again, can be chosen again.
            event.currentTarget.value = "";
          }}
          onChange={(event) => onFile(event.target.files?.[0])}
        />
        <label htmlFor={id} className="btn sm">
          Choose CSV file
        </label>
        <span className="muted" id={`${id}-state`}>
          {error ? (
            <span className="wrong">
              <Icon name="alert" small /> {error}
            </span>
          ) : (
            state || "or drop it here."
          )}
        </span>
      </div>
      {children}
    </div>
  );
}

/** Find a broker, zoom, fit: in the corner of a map. */
import { useId, useRef, useState } from "react";

import type { MapNode } from "./scene";

import { Icon } from "@/components/ui/icons";
import { useKeys } from "@/lib/keyboard";

const MOST = 8;

export function MapTools({
  nodes,
  onFind,
  onZoom,
  onFit,
}: {
  nodes: readonly MapNode[];
  onFind: (id: string) => void;
  onZoom: (factor: number) => void;
  onFit: () => void;
}) {
  const [text, setText] = useState<string | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  const wanted = (text ?? "").trim().toLowerCase();
  const found =
    wanted === ""
      ? []
      : nodes.filter((node) => node.name.toLowerCase().includes(wanted)).slice(0, MOST);
  const open = () => {
    setText("");
    requestAnimationFrame(() => input.current?.focus());
  };
  const take = (id: string | undefined) => {
    if (id === undefined) return;
    onFind(id);
    setText(null);
  };
  useKeys({ "/": open });
  return (
    <>
      {text === null ? null : (
        <div className="mapfind">
          <span className="inp">
            <Icon name="search" small />
            <input
              ref={input}
              type="search"
              role="combobox"
              aria-expanded={found.length > 0}
              aria-controls={list}
              aria-label="Find a broker on the map"
              placeholder="Find a broker"
              value={text}
              onChange={(event) => setText(event.target.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter") take(found[0]?.id);
                if (event.key === "Escape") setText(null);
              }}
            />
          </span>
          <ul id={list} role="listbox" aria-label="Brokers of that name">
            {found.map((node, index) => (
              <li key={node.id} role="option" aria-selected={index === 0}>
                <button type="button" tabIndex={-1} onClick={() => take(node.id)}>
                  {node.name}
                </button>
              </li>
            ))}
            {wanted !== "" && found.length === 0 ? (
              <li className="faint">No broker of that name</li>
            ) : null}
          </ul>
        </div>
      )}
      <div className="maptools">
        <button
          type="button"
          className="iconbtn"
          aria-label="Find a broker"
          title="Find a broker: /"
          onClick={open}
        >
          <Icon name="search" small />
        </button>
        <button
          type="button"
          className="iconbtn"
          aria-label="Zoom in"
          title="Zoom in: +"
          onClick={() => onZoom(1.5)}
        >
          <Icon name="plus" small />
        </button>
        <button
          type="button"
          className="iconbtn"
          aria-label="Zoom out"
          title={"Zoom out: \u2212"}
          onClick={() => onZoom(1 / 1.5)}
        >
          <Icon name="minus" small />
        </button>
        <button
          type="button"
          className="iconbtn"
          aria-label="Fit the map"
          title="Fit: F"
          onClick={onFit}
        >
          <Icon name="fit" small />
        </button>
      </div>
    </>
  );
}

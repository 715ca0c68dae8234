/** A box that scrolls sideways when its table is too wide, shows that, and is reached by keyboard. */
import { useCallback, useEffect, useRef, useState } from "react";

export function Scroll({
  label,
  children,
  maxHeight,
}: {
  label: string;
  children: React.ReactNode;
  maxHeight?: number;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [overflows, setOverflows] = useState(false);
  const [more, setMore] = useState(false);
  const look = useCallback(() => {
    const element = box.current;
    if (!element) return;
    const hidden = element.scrollWidth - element.clientWidth;
    setOverflows(hidden > 0 || element.scrollHeight > element.clientHeight);
    // Positions are fractions of a pixel on a scaled screen.
    setMore(hidden - element.scrollLeft > 1);
  }, []);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(look);
    watch.observe(element);
    if (element.firstElementChild) watch.observe(element.firstElementChild);
    return () => watch.disconnect();
  }, [look]);
  return (
    <div
      ref={box}
      className={more ? "scroll more" : "scroll"}
      onScroll={look}
      style={maxHeight === undefined ? undefined : { maxHeight, overflowY: "auto" }}
      {...(overflows ? { role: "group", "aria-label": `${label}, scrolls`, tabIndex: 0 } : {})}
    >
      {children}
    </div>
  );
}

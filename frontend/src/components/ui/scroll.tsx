/** A box that scrolls sideways when its table is too wide, and then can be reached by keyboard. */
import { useEffect, useRef, useState } from "react";

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
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () =>
      setOverflows(
        element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight,
      );
    const watch = new ResizeObserver(look);
    watch.observe(element);
    if (element.firstElementChild) watch.observe(element.firstElementChild);
    return () => watch.disconnect();
  }, []);
  return (
    <div
      ref={box}
      className="scroll"
      style={maxHeight === undefined ? undefined : { maxHeight, overflowY: "auto" }}
      {...(overflows ? { role: "group", "aria-label": `${label}, scrolls`, tabIndex: 0 } : {})}
    >
      {children}
    </div>
  );
}

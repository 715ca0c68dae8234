/** The width that an element has now, so that a chart draws to it instead of scaling its text. */
import { useEffect, useRef, useState } from "react";

export function useWidth<Of extends HTMLElement>(
  before: number,
): [React.RefObject<Of | null>, number] {
  const element = useRef<Of>(null);
  const [width, setWidth] = useState(before);
  useEffect(() => {
    const of = element.current;
    if (!of) return;
    const watch = new ResizeObserver(() => {
      if (of.clientWidth > 0) setWidth(of.clientWidth);
    });
    watch.observe(of);
    return () => watch.disconnect();
  }, []);
  return [element, width];
}

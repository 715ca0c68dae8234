/** Waits until somebody has stopped typing or dragging. */
import { useEffect, useState } from "react";

/** A value that follows once it has been still for a moment. */
export function useStill<Value>(value: Value, wait_ms: number): Value {
  const text = JSON.stringify(value);
  const [still, setStill] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setStill(text), wait_ms);
    return () => clearTimeout(timer);
  }, [text, wait_ms]);
  return JSON.parse(still) as Value;
}

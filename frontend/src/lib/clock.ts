/** The time, for what counts while it runs; it stands still when nothing does. */
import { useEffect, useState } from "react";

export function useNow(running: boolean, everyMs = 1000): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setNow(new Date()), everyMs);
    return () => clearInterval(timer);
  }, [running, everyMs]);
  return now;
}

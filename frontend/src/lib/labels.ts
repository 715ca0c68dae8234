/** Labels of objects as words to edit: `team=port`. */

export const labelWords = (labels: unknown): string[] =>
  typeof labels === "object" && labels !== null
    ? Object.entries(labels)
        .map(([key, value]) => `${key}=${String(value)}`)
        .sort()
    : [];

/** What the words mean, or why they mean nothing; the server knows which keys and values may be. */
export function readLabels(words: readonly string[]): {
  labels: Record<string, string>;
  problem: string | null;
} {
  const labels = new Map<string, string>();
  const answer = (problem: string | null) => ({ labels: Object.fromEntries(labels), problem });
  for (const word of words) {
    const at = word.indexOf("=");
    if (at < 0) return answer(`"${word}" has no "=": write key=value.`);
    const key = word.slice(0, at).trim();
    if (labels.has(key)) return answer(`${key} is given twice.`);
    labels.set(key, word.slice(at + 1).trim());
  }
  return answer(null);
}

export const LABELS_HINT = "key=value; press Enter after each. Plans do not depend on them.";
export const EXTERNAL_ID_HINT = "Its id in another system, by which API clients find it.";

/** Tables leave the browser as CSV (RFC 4180), numbers in full precision. */
export type Cell = string | number | null | undefined;

export function toCsv(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const quote = (cell: Cell) => {
    const text = cell === null || cell === undefined ? "" : String(cell);
    // A leading =, + or @ would run as a formula in a spreadsheet.
    const safe = typeof cell === "string" && /^[=+@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [head, ...rows].map((row) => row.map(quote).join(",")).join("\r\n") + "\r\n";
}

export function download(name: string, content: string | Blob, type = "text/csv;charset=utf-8") {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

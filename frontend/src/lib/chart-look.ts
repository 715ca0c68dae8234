/** The look that all charts share: their type and their tooltip. */
import { token } from "@/lib/theme";

export const fontOf = () => ({ fontFamily: token("font"), fontSize: 11 });

export const tooltipLook = () => ({
  confine: true,
  backgroundColor: token("surface"),
  borderColor: token("line-2"),
  padding: [5, 9],
  textStyle: { ...fontOf(), fontSize: 12, color: token("text") },
});

/** Names come from people; the tooltip is HTML. */
export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

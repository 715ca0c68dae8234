import { onLinks } from "./traffic-promise";

const sample = (at: string, sent: number) => ({
  at: `2026-03-18T14:02:${at}Z`,
  links: { "a-b": { sent_per_s: sent, received_per_s: 0, backlog: 0 } },
});

it("sums all brokers while each of them has measured a moment ago", () => {
  const points = onLinks([
    {
      stored: [sample("00", 10), sample("01", 30), sample("02", 40)],
      heard: [sample("02", 40), sample("04", 50), sample("16", 60)],
    },
    { stored: [], heard: [sample("00.5", 5), sample("05", 7)] },
    { stored: [], heard: [] },
  ]);
  expect(points.map(({ value }) => value)).toEqual([25, 45, 57]);
});

import { ageText, clockText, exactTime, longTime } from "./time";

const now = new Date("2026-03-18T14:02:10Z");

describe("times on the screen", () => {
  it("shows the hour alone today and the date on other days", () => {
    expect(clockText("2026-03-18T09:05:00Z", now)).toBe("09:05");
    expect(clockText("2026-03-12T09:05:00Z", now)).toBe("09:05, 12 Mar");
    expect(clockText("2025-03-12T09:05:00Z", now)).toBe("09:05, 12 Mar 2025");
    expect(clockText(null, now)).toBe("\u2013");
  });

  it("shows ages in the largest whole unit", () => {
    expect(ageText("2026-03-18T14:02:00Z", now)).toBe("10 s");
    expect(ageText("2026-03-18T13:36:00Z", now)).toBe("26 min");
    expect(ageText("2026-03-14T13:36:00Z", now)).toBe("4 d");
  });

  it("writes exact times in UTC", () => {
    expect(exactTime("2026-03-18T14:02:07+00:00")).toBe("14:02:07 UTC, 18 Mar 2026");
    expect(longTime(now)).toBe("Wednesday 18 March 2026, 14:02 UTC");
  });
});

import { cellText, groupsText, heatRows, rowsText, usersText, widestText } from "./heat-words";

import { mapHeat } from "@/testing/mapping-samples";

describe("what the heat map says", () => {
  it("names groups in order, and runs by their ends", () => {
    expect(groupsText([3])).toBe("group 3");
    expect(groupsText([12, 3])).toBe("groups 3 and 12");
    expect(groupsText([5, 3, 4])).toBe("groups 3 to 5");
    expect(groupsText([9, 3, 4])).toBe("groups 3, 4 and 9");
  });

  it("reads a cell: who, of which group, how many joined, and all three amounts", () => {
    const heat = mapHeat();
    expect(cellText(heat, { row: 0, column: 1 })).toBe(
      "10 users, the first desk-001, the last desk-010, in group 3: 4 of them joined; 100 msg/s wanted, 900 msg/s unwanted, 450 msg/s dropped.",
    );
    expect(cellText(heat, { row: 0, column: 2 })).toBe(
      "10 users, the first desk-001, the last desk-010, in group 0: not joined.",
    );
    // Of several groups joins are added: there may be more than users.
    expect(cellText(heat, { row: 2, column: 3 })).toMatch(/in groups 7 and 12: joined 12 times; /);
    expect(cellText(heat, { row: 9, column: 0 })).toBe("");
  });

  it("says a row of one user by its name alone", () => {
    const row = { first: "desk-7", last: "desk-7", users: 1, unwanted_per_s: 3 };
    expect(usersText(row)).toBe("desk-7");
    const heat = { ...mapHeat(), rows: [row, row, row] };
    expect(rowsText(heat)).toBe("one user a row");
    expect(cellText(heat, { row: 1, column: 1 })).toMatch(/^desk-7, in group 3: joined; /);
    expect(rowsText(mapHeat())).toBe("10 users a row");
    expect(rowsText({ ...mapHeat(), rows: [{ ...row, users: 4 }, row] })).toBe(
      "up to 4 users a row",
    );
  });

  it("names the group of which most is filtered, with its part of all", () => {
    // 2,400 of 3,165 msg/s; 11 of 30 users.
    expect(widestText(mapHeat())).toBe(
      "Group 3 is the widest: joined by 11 of 30 users, 2,400 msg/s filtered, 76 % of all.",
    );
  });

  it("names several that are nearly alike, but not all", () => {
    const two = mapHeat([
      [0, 400, 0, 0],
      [0, 0, 380, 0],
      [0, 0, 0, 20],
    ]);
    expect(widestText(two)).toBe(
      "Groups 0 and 3 are the widest: joined 31 times, 1,170 msg/s filtered, 98 % of all.",
    );
    const alike = mapHeat([[100, 100, 100, 100], [], []]);
    expect(widestText(alike)).toMatch(/^Group 5 is the widest: .* 25 % of all\.$/);
  });

  it("says so where nothing is filtered", () => {
    expect(widestText(mapHeat([[], [], []]))).toBe(
      "No user gets anything that it did not ask for.",
    );
  });

  it("is a table of all joined cells, where most is filtered first", () => {
    const rows = heatRows(mapHeat());
    expect(rows).toHaveLength(7);
    expect(rows[0]).toEqual([
      "10 users, the first desk-001, the last desk-010",
      "3",
      4,
      100,
      900,
      450,
      1350,
    ]);
    const filtered = rows.map((row) => Number(row[6]));
    expect(filtered).toEqual([...filtered].sort((one, other) => other - one));
    expect(filtered.reduce((sum, one) => sum + one, 0)).toBe(3165);
  });
});

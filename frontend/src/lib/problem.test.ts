import { below, messageFor, problemFrom, problemOf, unclaimed } from "./problem";

describe("problem documents", () => {
  it("reads code, detail and field messages", () => {
    const problem = problemFrom(400, {
      code: "invalid",
      title: "The request is not valid",
      detail: "name: given twice",
      errors: [{ field: "name", message: "given twice" }, { field: 3 }, "x"],
    });
    expect(problem.errors).toEqual([{ field: "name", message: "given twice" }]);
    expect(messageFor(problem.errors, "name")).toBe("given twice");
  });

  it("says what happened when the answer is no problem document", () => {
    expect(problemFrom(502, "<html>").detail).toContain("502");
    expect(problemOf(new TypeError("Failed to fetch")).code).toBe("unreachable");
  });

  it("knows which messages belong below a field and which to none", () => {
    const errors = [
      { field: "capacities[0].capacity", message: "negative" },
      { field: "capacity", message: "other" },
      { field: "", message: "whole" },
    ];
    expect(below(errors, "capacities")).toEqual([{ field: "[0].capacity", message: "negative" }]);
    expect(unclaimed(errors, ["capacities", "capacity"])).toEqual([
      { field: "", message: "whole" },
    ]);
  });
});

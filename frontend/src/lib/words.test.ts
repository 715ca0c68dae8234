import { actionWord, fieldWord, methodsText, methodWord, plainWords } from "./words";

it("names what the API identifies", () => {
  expect(actionWord("break_off")).toBe("ended before it was complete");
  expect(actionWord("step_completed")).toBe("completed a step");
  expect(methodWord("local_improvement")).toBe("Local improvement");
});

it("counts several methods", () => {
  expect(methodsText("lrgp")).toBe("LRGP");
  expect(methodsText("keep_today, minimum_cost")).toBe("2 methods");
});

it("shows no underscore of what no table knows", () => {
  expect(actionWord("send_the_boat")).toBe("send the boat");
  expect(methodWord("my_planner")).toBe("My planner");
  expect(plainWords("a_b_c")).toBe("a b c");
});

it("sets the unit of a field apart", () => {
  expect(fieldWord("pace_s")).toBe("pace, s");
  expect(fieldWord("rate_max_per_s")).toBe("rate max, per second");
  expect(fieldWord("population_max")).toBe("population max");
});

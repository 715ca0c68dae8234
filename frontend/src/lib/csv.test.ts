import { toCsv } from "./csv";

it("quotes what needs quotes and disarms formulas", () => {
  expect(
    toCsv(
      ["a", "b"],
      [
        ["x,y", 1.5],
        ['say "hi"', null],
        ["=1+1", -2],
      ],
    ),
  ).toBe('a,b\r\n"x,y",1.5\r\n"say ""hi""",\r\n\'=1+1,-2\r\n');
});

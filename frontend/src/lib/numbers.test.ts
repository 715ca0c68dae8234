import {
  amountScale,
  axisText,
  axisTicks,
  dataScale,
  dataText,
  delayScale,
  delayText,
  durationText,
  fixed,
  gapText,
  percentText,
  priceDecimals,
  priceText,
  rateChange,
  rateFigure,
  rateText,
  relativeChange,
  signed,
} from "./numbers";

describe("numbers on the screen", () => {
  it("separates thousands and uses a true minus", () => {
    expect(fixed(1329009)).toBe("1,329,009");
    expect(fixed(-3.07, 2)).toBe("\u22123.07");
    expect(fixed(-0.001, 2)).toBe("0.00");
    expect(fixed(undefined)).toBe("\u2013");
  });

  it("shows rates with two decimals under 100 and none from there on", () => {
    expect(rateText(16.88)).toBe("16.88");
    expect(rateText(99.999)).toBe("100");
    expect(rateText(38700.4)).toBe("38,700");
    expect(rateFigure(394_321)).toEqual({ text: "394.3", unit: "k msg/s" });
    expect(rateFigure(99_999)).toEqual({ text: "99,999", unit: "msg/s" });
  });

  it("shows amounts that stand together in one unit", () => {
    const large = amountScale([231_500, 412_300, 48.9, null], "work/s");
    expect(large).toMatchObject({ unit: "k work/s", per: 1000, decimals: 1 });
    expect([231_500, 48.9, null].map(large.text)).toEqual(["231.5", "0.0", "\u2013"]);
    expect(amountScale([99_999], "work/s").text(99_999)).toBe("99,999");
    const small = amountScale([0.5, 99.99], "work/s");
    expect([0.5, 99.99].map(small.text)).toEqual(["0.50", "99.99"]);
    expect(small.unit).toBe("work/s");
    expect(amountScale([], "work/s").text(0)).toBe("0.00");
  });

  it("says no change as plus-minus zero", () => {
    expect(signed(0)).toBe("\u00b10");
    expect(signed(0.004, 2)).toBe("\u00b10");
    expect(signed(34)).toBe("+34");
    expect(rateChange(11.41, 14.48)).toBe("\u22123.07");
  });

  it("shows percentages with a space", () => {
    expect(percentText(1.075)).toBe("108 %");
    expect(percentText(1, 1)).toBe("100.0 %");
  });

  it("shows a relative change with three significant digits", () => {
    expect(relativeChange(1_329_009, 1_308_265)).toBe("+1.59 %");
    expect(relativeChange(0.1262, 0.2319)).toBe("\u221245.6 %");
    expect(relativeChange(5, 5)).toBe("\u00b10");
    expect(relativeChange(1.00001, 1)).toBe("\u00b10");
    expect(relativeChange(5, 0)).toBe("\u2013");
  });

  it("never calls a gap zero unless the two are equal", () => {
    expect(gapText(1_329_009.2, 1_329_012.8)).toBe("0.0003");
    expect(gapText(99, 100)).toBe("1.0");
    expect(gapText(7, 7)).toBe("0");
    expect(gapText(1_329_012.793, 1_329_012.7931)).toBe("< 0.000001");
  });

  it("shows prices with four significant digits and one column alike", () => {
    expect(priceText(0.29534)).toBe("0.2953");
    expect(priceText(0)).toBe("0");
    expect(priceText(3e-14)).toBe("0");
    expect(priceDecimals([3e-14, 0])).toBe(0);
    expect(priceDecimals([0.044, 0.2953, 0.1262])).toBe(4);
    expect(priceDecimals([12.3, null])).toBe(2);
  });

  it("picks the unit of a duration", () => {
    expect(durationText(0.0007)).toEqual({ text: "700", unit: "\u00b5s" });
    expect(durationText(0.0384)).toEqual({ text: "38", unit: "ms" });
    expect(durationText(0.00712)).toEqual({ text: "7.12", unit: "ms" });
    expect(durationText(1.84)).toEqual({ text: "1.8", unit: "s" });
    expect(durationText(150)).toEqual({ text: "3", unit: "min" });
    expect(durationText(3 * 3600)).toEqual({ text: "3", unit: "h" });
    expect(durationText(4 * 86_400)).toEqual({ text: "4", unit: "d" });
  });

  it("shows delays in milliseconds, the least in microseconds, a column alike", () => {
    expect(delayText(0.00068)).toEqual({ text: "0.68", unit: "ms" });
    expect(delayText(0.0123)).toEqual({ text: "12.3", unit: "ms" });
    expect(delayText(1.5)).toEqual({ text: "1,500", unit: "ms" });
    expect(delayText(0.000042)).toEqual({ text: "42.0", unit: "\u00b5s" });
    expect(delayText(0)).toEqual({ text: "0.00", unit: "ms" });
    expect(delayText(null).text).toBe("\u2013");
    const scale = delayScale([0.00004, 0.0151, null]);
    expect([0.00004, 0.0151, null].map(scale.text)).toEqual(["0.04", "15.10", "\u2013"]);
    expect(delayScale([]).unit).toBe("ms");
  });

  it("shows data in the unit that its size has, what stands together in one", () => {
    expect([0, 1, 812, 1023].map(dataText)).toEqual([
      "0 bytes",
      "1 byte",
      "812 bytes",
      "1,023 bytes",
    ]);
    expect(dataText(1024)).toBe("1.0 KiB");
    expect(dataText(128 * 2 ** 20)).toBe("128.0 MiB");
    expect(dataText(5 * 2 ** 40)).toBe("5,120.0 GiB");
    const scale = dataScale(96 * 2 ** 20);
    expect(scale.text(4 * 2 ** 10)).toBe("0.0");
    expect(`${scale.text(2 ** 22)} ${scale.unit}`).toBe("4.0 MiB");
  });

  it("places axis ticks on round numbers", () => {
    expect(axisTicks(0, 500)).toEqual([0, 100, 200, 300, 400, 500]);
    expect(axisText(1_200_000, 100_000)).toBe("1.2 M");
    expect(axisText(0, 10)).toBe("0");
    expect(axisText(0.5, 0.25)).toBe("0.50");
    expect(axisText(2.5, 2.5)).toBe("2.5");
  });
});

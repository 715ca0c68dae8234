import { expect, it } from "vitest";

import { rasterOf } from "./raster-rows";

it("takes a moment of the leader alone for no burst, also where two are a half", () => {
  const rows = [
    { publisher: "quay-1", at_s: [100, 110, 120] },
    { publisher: "quay-2", at_s: [110.02] },
  ];
  const raster = rasterOf({ since_s: 100, until_s: 120, rows }, 0.05);
  expect(raster.bursts).toEqual([10]);
  expect(raster.rows[0]).toMatchObject({ together: [10], apart: [0, 20] });
});

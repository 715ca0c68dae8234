import { svgText } from "./chart-frame";

import { renderUi } from "@/testing/render";

it("takes colours and hatchings of the page into a file", () => {
  const { container } = renderUi(
    <>
      <svg>
        <defs>
          <pattern id="hatch" width="4" height="4">
            <rect width="1" height="4" />
          </pattern>
        </defs>
      </svg>
      <svg className="chart" viewBox="0 0 800 300">
        <rect style={{ fill: "rgb(10, 103, 128)" }} />
        <rect style={{ fill: "url(#hatch)" }} />
      </svg>
    </>,
  );
  const drawn = container.querySelector<SVGSVGElement>("svg.chart");
  if (drawn)
    Object.defineProperty(drawn, "viewBox", { value: { baseVal: { width: 800, height: 300 } } });
  const text = svgText(drawn);
  expect(text).toContain('width="800"');
  expect(text).toContain('fill="rgb(10, 103, 128)"');
  expect(text?.match(/xmlns=/g)).toHaveLength(1);
  expect(text).toContain('<pattern id="hatch"');
  expect(svgText(null)).toBeNull();
});

/** What every chart offers beside its picture: the same numbers as a table, and files to take away. */
import { Menu } from "@mantine/core";
import { useState } from "react";

import { Icon } from "./icons";
import { Panel } from "./panel";
import { Scroll } from "./scroll";

import { download, toCsv, type Cell } from "@/lib/csv";

export type ChartData = {
  name: string;
  head: readonly string[];
  rows: readonly (readonly Cell[])[];
};

export function ChartPanel({
  title,
  sub,
  right,
  footer,
  stale,
  data,
  svg,
  children,
  below,
  flush = false,
  format = String,
}: {
  title: string;
  sub?: React.ReactNode;
  right?: React.ReactNode;
  footer?: React.ReactNode;
  stale?: boolean;
  data: ChartData;
  /** The picture as SVG text, when the chart can give it. */
  svg?: () => string | null;
  children: React.ReactNode;
  /** What stays below picture and table. */
  below?: React.ReactNode;
  /** The drawing brings its own padding. */
  flush?: boolean;
  format?: (cell: Cell, column: number) => string;
}) {
  const [asTable, setAsTable] = useState(false);
  const savePng = () => {
    const text = svg?.();
    if (text) void svgToPng(text).then((blob) => download(`${data.name}.png`, blob, "image/png"));
  };
  const menu = (
    <Menu position="bottom-end" width={170}>
      <Menu.Target>
        <button type="button" className="iconbtn" aria-label={`Numbers and files of ${title}`}>
          <Icon name="download" small />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => setAsTable((on) => !on)}>
          {asTable ? "Show as chart" : "Show as table"}
        </Menu.Item>
        <Menu.Item onClick={() => download(`${data.name}.csv`, toCsv(data.head, data.rows))}>
          CSV
        </Menu.Item>
        {svg && !asTable ? (
          <>
            <Menu.Item
              onClick={() => {
                const text = svg();
                if (text) download(`${data.name}.svg`, text, "image/svg+xml");
              }}
            >
              SVG
            </Menu.Item>
            <Menu.Item onClick={savePng}>PNG</Menu.Item>
          </>
        ) : null}
      </Menu.Dropdown>
    </Menu>
  );
  return (
    <Panel
      title={title}
      sub={sub}
      footer={footer}
      stale={stale}
      flush={asTable || flush}
      right={
        <>
          {right}
          {menu}
        </>
      }
    >
      {asTable ? (
        <Scroll label={title} maxHeight={320}>
          <table className="tbl" aria-label={`${title} as table`}>
            <thead>
              <tr>
                {data.head.map((name) => (
                  <th key={name} className="n" scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.rows.map((row, index) => (
                <tr key={index}>
                  {row.map((cell, column) => (
                    <td key={column} className="n">
                      {format(cell, column)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      ) : (
        children
      )}
      {below ? <div className={asTable || flush ? "body" : "below"}>{below}</div> : null}
    </Panel>
  );
}

/** What a drawing takes from the page around it. */
const LOOKS = [
  ...["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity"],
  ...["paint-order", "font-family", "font-size", "font-weight", "text-anchor"],
];

/** A drawing of the page as a file of its own: colours and hatchings go with it. */
export function svgText(drawn: SVGSVGElement | null): string | null {
  if (!drawn) return null;
  const copy = drawn.cloneNode(true) as SVGSVGElement;
  const { width, height } = drawn.viewBox.baseVal;
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const inks = (from: Element, to: Element) => {
    const look = getComputedStyle(from);
    to.removeAttribute("style");
    for (const name of LOOKS) {
      const value = look.getPropertyValue(name);
      if (value) to.setAttribute(name, value.replaceAll('"', ""));
    }
    [...from.children].forEach((child, at) => {
      const other = to.children[at];
      if (other) inks(child, other);
    });
  };
  inks(drawn, copy);
  const hatched = new Set(
    [...copy.querySelectorAll("[fill^='url(#']")].flatMap(
      (element) => /#([\w-]+)/.exec(element.getAttribute("fill") ?? "")?.[1] ?? [],
    ),
  );
  for (const id of hatched) {
    const pattern = document.getElementById(id);
    if (!pattern || copy.querySelector(`#${id}`)) continue;
    const brought = pattern.cloneNode(true) as Element;
    inks(pattern, brought);
    copy.prepend(brought);
  }
  return new XMLSerializer().serializeToString(copy);
}

async function svgToPng(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;utf8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width * 2;
  canvas.height = image.height * 2;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("This browser cannot draw pictures.");
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--surface");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return await new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob) resolve(blob);
      else reject(new Error("The picture could not be made."));
    }, "image/png");
  });
}

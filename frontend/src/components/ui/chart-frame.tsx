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
  data,
  svg,
  children,
  flush = false,
  format = String,
}: {
  title: string;
  sub?: React.ReactNode;
  right?: React.ReactNode;
  data: ChartData;
  /** The picture as SVG text, when the chart can give it. */
  svg?: () => string | null;
  children: React.ReactNode;
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
    </Panel>
  );
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
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return await new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob) resolve(blob);
      else reject(new Error("The picture could not be made."));
    }, "image/png");
  });
}

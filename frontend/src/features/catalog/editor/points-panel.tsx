/** The points of a drawn function as a table to type in, with the slope to the next. */
import { bendSentence, inserted, numbersOf, slopeAfter } from "./points";

import { Icon } from "@/components/ui/icons";
import { Panel } from "@/components/ui/panel";
import { Scroll } from "@/components/ui/scroll";
import { fixed } from "@/lib/numbers";
import type { Point } from "@/lib/parameters";

export function PointsPanel({
  points,
  bends,
  faulty,
  messages,
  chosen,
  disabled,
  onChoose,
  onPoints,
}: {
  points: readonly Point[];
  /** Indices where the line bends upwards. */
  bends: readonly number[];
  /** Indices that the server or the reading found at fault. */
  faulty: readonly number[];
  messages: readonly string[];
  chosen: number;
  disabled: boolean;
  onChoose: (index: number) => void;
  onPoints: (points: Point[], mark: string | null) => void;
}) {
  const numbers = numbersOf(points);
  const set = (index: number, field: keyof Point, text: string) =>
    onPoints(
      points.map((point, i) => (i === index ? { ...point, [field]: text } : point)),
      `${field} ${index}`,
    );
  const add = () => {
    const { index, point } = inserted(numbers);
    const next = [...points];
    next.splice(index, 0, {
      rate: String(point[0]),
      utility: String(Number(point[1].toPrecision(8))),
    });
    onPoints(next, null);
    onChoose(index);
  };
  const said = [...bends.map((index) => bendSentence(numbers, index)), ...messages];
  return (
    <Panel
      title="Points"
      sub="flat after the last"
      flush
      right={
        disabled ? undefined : (
          <button type="button" className="btn sm" onClick={add}>
            <Icon name="plus" small />
            Add
          </button>
        )
      }
      footer={
        said.length > 0 ? (
          <span className="down" role="status">
            {said.slice(0, 3).map((sentence) => (
              <span key={sentence} style={{ display: "block" }}>
                {sentence}
              </span>
            ))}
          </span>
        ) : (
          "Slopes fall from point to point: concave and non-decreasing."
        )
      }
    >
      <Scroll label="Points" maxHeight={420}>
        <table className="tbl pts tall" aria-label="Points">
          <thead>
            <tr>
              <th className="n" scope="col">
                #
              </th>
              <th scope="col">
                Rate<span className="u">msg/s</span>
              </th>
              <th scope="col">Utility</th>
              <th className="n" scope="col">
                Slope to next
              </th>
              <th scope="col">
                <span className="vh">Remove</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {points.map((point, index) => {
              const bad = bends.includes(index) || faulty.includes(index);
              const slope = slopeAfter(numbers, index);
              const input = (field: keyof Point, label: string) => (
                <span className={bad ? "inp err" : "inp"}>
                  <input
                    className="r"
                    inputMode="decimal"
                    aria-label={`${label} of point ${index}`}
                    aria-invalid={bad}
                    value={point[field]}
                    disabled={disabled}
                    onFocus={() => onChoose(index)}
                    onChange={(event) => set(index, field, event.target.value)}
                  />
                </span>
              );
              return (
                <tr key={index} aria-selected={index === chosen}>
                  <td className="n faint">{index}</td>
                  <td>{input("rate", "Rate")}</td>
                  <td>{input("utility", "Utility")}</td>
                  <td className="n strong">
                    {Number.isFinite(slope) ? fixed(slope, 2) : "\u2013"}
                  </td>
                  <td>
                    {points.length > 1 && !disabled ? (
                      <button
                        type="button"
                        className="iconbtn"
                        aria-label={`Remove point ${index}`}
                        title="Remove"
                        onClick={() => {
                          onPoints(
                            points.filter((_, i) => i !== index),
                            null,
                          );
                          onChoose(Math.max(0, index - 1));
                        }}
                      >
                        <Icon name="x" small />
                      </button>
                    ) : null}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
    </Panel>
  );
}

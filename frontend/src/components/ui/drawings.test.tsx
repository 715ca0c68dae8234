import { screen } from "@testing-library/react";

import { AdmissionBar, BoundBar, boundPosition, LevelStrip, LoadBar } from "./bars";
import { BrokerTanks } from "./broker-tank";
import { FigureStrip } from "./figure-strip";
import { LoadBadge, StateBadge } from "./state-badge";
import { Delta, UnitNumber } from "./unit-number";

import { renderUi } from "@/testing/render";

describe("bars", () => {
  it("say their value, because no text stands on a fill", () => {
    renderUi(
      <>
        <LoadBar fraction={1.075} />
        <LoadBar fraction={0.684} before={0.893} />
        <AdmissionBar admitted={0} wanted={1500} />
        <BoundBar value={16.88} min={10} max={1000} previous={16.71} />
        <LevelStrip
          levels={[
            { name: "a", fraction: 0.4 },
            { name: "b", fraction: 1.08 },
          ]}
        />
      </>,
    );
    expect(screen.getByRole("img", { name: "107.5 % of capacity" })).toBeInTheDocument();
    expect(
      screen.getByRole("img", { name: "68.4 % of capacity, before 89.3 %" }),
    ).toBeInTheDocument();
    expect(screen.getByRole("img", { name: "0 of 1,500 admitted" })).toBeInTheDocument();
    expect(
      screen.getByRole("img", { name: "rate 16.88 between 10.00 and 1,000 msg/s, before 16.71" }),
    ).toBeInTheDocument();
    expect(
      screen.getByRole("img", { name: "load of 2 brokers, highest b 108 %" }),
    ).toBeInTheDocument();
  });

  it("hatch what is over capacity and who is refused", () => {
    const { container } = renderUi(
      <>
        <LoadBar fraction={1.1} />
        <AdmissionBar admitted={0} wanted={10} />
      </>,
    );
    expect(container.querySelector('[fill="url(#spill)"]')).not.toBeNull();
    expect(container.querySelector('[fill="url(#ghosth)"]')).not.toBeNull();
  });

  it("place a rate between its bounds on a logarithmic scale", () => {
    expect(boundPosition(10, 10, 1000)).toBe(0);
    expect(boundPosition(100, 10, 1000)).toBeCloseTo(0.5);
    expect(boundPosition(5000, 10, 1000)).toBe(1);
    expect(boundPosition(0, 0, 100)).toBe(0);
    expect(boundPosition(7, 7, 7)).toBe(1);
  });
});

describe("tanks", () => {
  it("name every broker with its load", () => {
    renderUi(<BrokerTanks tanks={[{ name: "S0", fraction: 1, previous: 0.87 }]} />);
    expect(screen.getByRole("img", { name: "Load of S0 100.0 %" })).toBeInTheDocument();
  });
});

describe("badges and numbers", () => {
  it("show the word of the lifecycle, never the colour alone", () => {
    renderUi(
      <>
        <StateBadge state="infeasible" />
        <StateBadge state="brand_new_state" />
        <LoadBadge state="at" />
      </>,
    );
    expect(screen.getByText("Infeasible")).toBeInTheDocument();
    expect(screen.getByText("Brand new state")).toBeInTheDocument();
    expect(screen.getByText("Full")).toBeInTheDocument();
  });

  it("show no alarm where capacity is used in full, only where it is exceeded", () => {
    renderUi(
      <>
        <LoadBadge state="near" />
        <LoadBadge state="at" />
        <LoadBadge state="over" />
      </>,
    );
    expect(screen.getByText("Nearly full").className).toBe("badge");
    expect(screen.getByText("Full").className).toBe("badge");
    expect(screen.getByText("Over")).toHaveClass("bad");
  });

  it("show a unit with every known number and a dash for the unknown", () => {
    const { container } = renderUi(
      <>
        <UnitNumber value={394_321} as="rate-figure" />
        <UnitNumber value={null} as="rate" />
        <Delta value={20_744.5} decimals={1} better="up" />
        <Delta value={0} />
      </>,
    );
    expect(container).toHaveTextContent("394.3k msg/s\u2013+20,744.5\u00b10");
    expect(screen.getByText("+20,744.5")).toHaveClass("up");
  });

  it("keeps at most five figures", () => {
    renderUi(
      <FigureStrip figures={Array.from({ length: 6 }, (_, i) => ({ label: `L${i}`, value: i }))} />,
    );
    expect(screen.getByText("L4")).toBeInTheDocument();
    expect(screen.queryByText("L5")).toBeNull();
  });
});

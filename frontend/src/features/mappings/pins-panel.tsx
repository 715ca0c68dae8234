/** What people have pinned, what each pin costs by the proposed map, and how to pin and unpin. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import { mappingsAt } from "./addresses";
import { PinDialog } from "./pin-dialog";
import { PINNED, pricesOf, usePins, type Pin } from "./pins";

import { catalogUpdate } from "@/api/catalog";
import type { MappingDetail } from "@/api/mappings";
import { keys } from "@/api/query-keys";
import { useSystem } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { DataTable, type Column } from "@/components/ui/data-table";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { Icon } from "@/components/ui/icons";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { tellWithUndo } from "@/components/ui/toast";
import { to } from "@/lib/kinds";
import { countText, fixed, rateText, UNKNOWN } from "@/lib/numbers";

const MAY_NOT = "Editors of the model pin and unpin.";

/** "stream 14"; its name where the number is not known. */
function TargetLink({ pin, system }: { pin: Pin; system: string }) {
  const { to: kind, target } = PINNED[pin.kind];
  return (
    <Link to={to.object(system, kind, pin.target)} title={pin.targetName}>
      {pin.targetNumber === null ? pin.targetName : `${target} ${String(pin.targetNumber)}`}
    </Link>
  );
}

/** Why a pin has no price. */
const unpricedText = ({ name, outcome: { pins, pin_count: all } }: MappingDetail) =>
  all > pins.length
    ? `Not among the ${fixed(pins.length)} dearest of ${name}, or pinned since.`
    : `Not in this mapping: ${name} knew no such pin. Map the flows again.`;

const columnsOf = (
  mapping: MappingDetail,
  prices: ReadonlyMap<string, number>,
  unpin: (pin: Pin) => void,
): Column<Pin>[] => [
  {
    key: "pinned",
    title: "Pinned",
    cell: (pin) => (
      <>
        <Icon name="pin" small />{" "}
        <Link
          className="ent"
          to={to.object(mapping.system, PINNED[pin.kind].kind, pin.id)}
          title={pin.number === null ? undefined : `stream ${String(pin.number)}`}
        >
          {pin.name}
        </Link>
      </>
    ),
  },
  { key: "to", title: "To", cell: (pin) => <TargetLink pin={pin} system={mapping.system} /> },
  {
    key: "price",
    title: "Price",
    unit: "work/s",
    number: true,
    strong: true,
    cell: (pin) => {
      const price = prices.get(pin.id);
      return price === undefined ? (
        <span className="faint" title={unpricedText(mapping)}>
          {UNKNOWN}
        </span>
      ) : (
        <span title={`By the proposed map of ${mapping.name}`}>{rateText(price)}</span>
      );
    },
  },
  {
    key: "unpin",
    title: "Unpin",
    silent: true,
    number: true,
    cell: (pin) => (
      <button
        type="button"
        className="iconbtn"
        aria-label={`Unpin ${pin.name}`}
        title={pin.may ? `Unpin ${pin.name}` : MAY_NOT}
        disabled={!pin.may}
        onClick={() => unpin(pin)}
      >
        <Icon name="unpin" small />
      </button>
    ),
  },
];

/** Whether this map knew today's pins, and what to do where it did not. */
function footOf(mapping: MappingDetail, pins: readonly Pin[] | undefined, priced: number) {
  if (pins === undefined) return undefined;
  const { pins: dearest, pin_count: all } = mapping.outcome;
  const isCut = all > dearest.length;
  // Where not all are priced, one without a price may be as old as the others.
  const added = isCut ? 0 : pins.length - priced;
  const gone = dearest.length - priced;
  if (added === 0 && gone === 0 && !isCut) return undefined;
  const parts = [
    ...(added > 0 ? [`${countText(added, "pin is", "pins are")} not in this mapping`] : []),
    ...(gone > 0
      ? [`${countText(gone, "pin")} of this mapping ${gone === 1 ? "is" : "are"} gone`]
      : []),
  ];
  return (
    <span>
      {isCut
        ? `Only the ${fixed(dearest.length)} dearest of ${fixed(all)} pins have a price. `
        : ""}
      {parts.length > 0 ? (
        <>
          {parts.join(", ")}. <Link to={mappingsAt.ask(mapping.system)}>Map the flows again</Link>{" "}
          to have today&apos;s pins in it.
        </>
      ) : null}
    </span>
  );
}

export function PinsPanel({ mapping }: { mapping: MappingDetail }) {
  const { system, name, outcome } = mapping;
  const queries = useQueryClient();
  const owner = useSystem(system).data;
  const pins = usePins(system);
  const [pinning, setPinning] = useState(false);
  const [chosen, setChosen] = useState<string | null>(null);
  const may = owner?.allowed_commands.includes("edit") ?? false;
  const prices = pricesOf(pins.data ?? [], outcome.pins);
  const leaving = pins.data?.find(({ id }) => id === chosen);

  const refresh = async () => {
    await Promise.all([
      queries.invalidateQueries({ queryKey: keys.catalog.all }),
      queries.invalidateQueries({ queryKey: keys.mappings.mappable(system) }),
    ]);
  };
  const unpin = async (pin: Pin, reason: string) => {
    const { kind, field } = PINNED[pin.kind];
    const saved = await catalogUpdate(kind, pin.id, pin.version, {
      [field]: null,
      ...(reason ? { reason } : {}),
    }).catch(async (error: unknown) => {
      // Whoever gives the command once more gives it to what is stored by then.
      await refresh();
      throw error;
    });
    await refresh();
    tellWithUndo(`Unpinned ${pin.name}`, async () => {
      await catalogUpdate(kind, pin.id, saved.version, {
        [field]: pin.target,
        reason: "Undo of unpinning",
      });
      await refresh();
    });
  };
  const body = (all: readonly Pin[]) =>
    all.length === 0 ? (
      <Empty>
        A pin keeps a topic in its stream, or a stream in its group, whatever mappings would save by
        moving it. Nothing is pinned.
      </Empty>
    ) : (
      <DataTable
        label="Pins"
        columns={columnsOf(mapping, prices, ({ id }) => setChosen(id))}
        rows={all}
        rowKey={(pin) => pin.id}
      />
    );
  return (
    <Panel
      title="Pins"
      sub={pins.data?.length ? `${pins.data.length}, priced by the proposed map` : undefined}
      right={
        <Command
          small
          icon="plus"
          onClick={() => setPinning(true)}
          disabled={!may}
          reason={owner === undefined ? undefined : MAY_NOT}
        >
          Pin
        </Command>
      }
      flush
      footer={footOf(mapping, pins.data, prices.size)}
    >
      <QueryBody query={pins} what="The pins" rows={3}>
        {body}
      </QueryBody>
      <PinDialog
        system={system}
        open={pinning}
        onClose={() => setPinning(false)}
        onPinned={refresh}
      />
      <ConfirmDialog
        title={`Unpin ${leaving?.name ?? ""}`}
        command="Unpin"
        dangerous={false}
        askReason
        open={leaving !== undefined}
        onClose={() => setChosen(null)}
        run={(reason) => (leaving ? unpin(leaving, reason) : Promise.resolve())}
      >
        <p>
          {leaving?.name} stays where it is now. The next mapping may move it out of{" "}
          {leaving ? `${PINNED[leaving.kind].target} ${leaving.targetName}` : ""}
          {leaving && prices.has(leaving.id)
            ? `; by the proposed map of ${name} its best move would save ${rateText(prices.get(leaving.id))} work/s`
            : ""}
          .
        </p>
      </ConfirmDialog>
    </Panel>
  );
}

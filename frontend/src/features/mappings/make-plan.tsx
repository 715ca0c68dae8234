/** From one of a mapping's maps to a draft plan: what moves, what that saves, and how fast. */
import { useQueryClient } from "@tanstack/react-query";
import { Fragment, useState } from "react";
import { useNavigate } from "react-router";

import { durationWords, paceText } from "./figures";
import {
  allMovesOf,
  mapText,
  MOST_PER_STEP,
  paceOf,
  perStepOf,
  usualPerStep,
  whyNothing,
  type Pace,
} from "./plan-pace";
import { keptMap, useChosenMap, type ChosenMap } from "./use-chosen-map";
import { valuesOf } from "./weights";

import { planFromMapping, useMappingSettings, type MappingDetail } from "@/api/mappings";
import { keys } from "@/api/query-keys";
import { useSystem, type System } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Dialog, Note } from "@/components/ui/dialogs";
import { Field, NumberField, TextField } from "@/components/ui/fields";
import { QueryBody } from "@/components/ui/panel";
import { to } from "@/lib/kinds";
import { amountScale, fixed, percentText, UNKNOWN } from "@/lib/numbers";
import { messageFor } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";

const LONGEST_TITLE = 200;
const DRAWN = ["map", "title", "moves_per_step"];

/** Moves are counted from the map in force, as the model had it. */
export const hasMoved = (mapping: MappingDetail, system: System | undefined): boolean =>
  system !== undefined && system.model_version !== mapping.model_version;

export function MakePlan({ mapping }: { mapping: MappingDetail }) {
  const [asking, setAsking] = useState(false);
  const system = useSystem(mapping.system).data;
  const isMoved = hasMoved(mapping, system);
  // Of a mapping whose model has moved nobody may make a plan; who maps flows also plans.
  const mayMap = system?.allowed_commands.includes("optimize") ?? false;
  if (!mapping.allowed_commands.includes("plan") && !(isMoved && mayMap)) return null;
  const close = () => setAsking(false);
  return (
    <>
      <Command
        icon="plan"
        primary
        disabled={isMoved}
        reason="The model has moved since this mapping. Map flows again."
        onClick={() => setAsking(true)}
      >
        Make a plan
      </Command>
      <Dialog title={`Make a plan of ${mapping.name}`} open={asking} onClose={close}>
        <PlanOutlook mapping={mapping} onClose={close} />
      </Dialog>
    </>
  );
}

function PlanOutlook({ mapping, onClose }: { mapping: MappingDetail; onClose: () => void }) {
  const chosen = useChosenMap(mapping);
  const settings = useMappingSettings(mapping.system);
  const nothing = whyNothing(mapping, chosen);
  if (nothing !== "") {
    return (
      <div className="form">
        <Note>{nothing}</Note>
        <div className="formfoot">
          <span className="r">
            <button type="button" className="btn" onClick={onClose} data-autofocus>
              Close
            </button>
          </span>
        </div>
      </div>
    );
  }
  return (
    <QueryBody query={settings} what="The pace of moves" rows={6}>
      {(row) => (
        <PlanForm
          mapping={mapping}
          chosen={chosen}
          flowsPerS={valuesOf(row).flows_per_s}
          onClose={onClose}
        />
      )}
    </QueryBody>
  );
}

type Row = readonly [label: string, value: React.ReactNode];

const Rows = ({ label, rows }: { label: string; rows: readonly Row[] }) => (
  <dl className="kv" aria-label={label}>
    {rows.map(([name, value]) => (
      <Fragment key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </Fragment>
    ))}
  </dl>
);

/** Only what there is any of. */
const movesRows = ({ point }: ChosenMap): Row[] =>
  (
    [
      ["Flows that change their stream", point.moved],
      ["Streams that change their group", point.moved_streams],
      ["Flows that get their first stream", point.placed],
      ["Flows taken out, as nobody wants them", point.retired],
      ["Streams that get their first group", point.opened_streams],
    ] as const
  )
    .filter(([, count]) => count > 0)
    .map(([name, count]) => [name, fixed(count)]);

function costRows(mapping: MappingDetail, { point }: ChosenMap): Row[] {
  const { former_cost: now } = mapping;
  const kept = keptMap(mapping);
  const scale = amountScale([now, point.cost, kept?.cost], "work/s");
  const amount = (value: number) => (
    <>
      {scale.text(value)}
      <span className="u">{scale.unit}</span>
    </>
  );
  if (now === null) {
    return [
      ["Cost now", `${UNKNOWN} no map is in force`],
      ["Cost afterwards", amount(point.cost)],
    ];
  }
  const saved = now - point.cost;
  const share = now > 0 ? `, ${percentText(Math.abs(saved) / now, 1)}` : "";
  return [
    ["Cost now", amount(now)],
    ...(kept === undefined || kept.cost === now || kept === point
      ? []
      : [["Cost of keeping the map, with every flow that is wanted", amount(kept.cost)] as const]),
    ["Cost afterwards", amount(point.cost)],
    saved === 0
      ? ["Saving", "none"]
      : [
          saved > 0 ? "Saving" : "Costs more by",
          <span key="saved" className={saved > 0 ? "up" : "worse"}>
            {amount(Math.abs(saved))}
            {share}
          </span>,
        ],
  ];
}

const paceRows = ({ steps, pauseS, wholeS }: Pace): Row[] => [
  ["Steps", fixed(steps)],
  ["Pause between steps", steps > 1 ? durationWords(pauseS) : "none"],
  ["Whole duration", steps > 1 ? `at least ${durationWords(wholeS)}` : "that of one step"],
];

function PlanForm({
  mapping,
  chosen,
  flowsPerS,
  onClose,
}: {
  mapping: MappingDetail;
  chosen: ChosenMap;
  /** The pace of the settings as they are now, which the plan keeps. */
  flowsPerS: number;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [title, setTitle] = useState("");
  const [typed, setTyped] = useState<string | null>(null);
  const { errors, setErrors, busy, send, others } = useSubmission(DRAWN);
  const text = typed ?? String(usualPerStep(flowsPerS));
  const perStep = perStepOf(text);
  const { point, place } = chosen;
  const moves = allMovesOf(point);

  const make = async () => {
    if (perStep === undefined) {
      setErrors([
        {
          field: "moves_per_step",
          message: `Give a whole number from 1 to ${fixed(MOST_PER_STEP)}.`,
        },
      ]);
      return;
    }
    await send(async () => {
      const asked = { map: String(place), title: title.trim(), moves_per_step: perStep };
      const plan = await planFromMapping(mapping.id, asked);
      await queries.invalidateQueries({ queryKey: keys.plans.all });
      await navigate(to.plan(plan.id));
    });
  };
  return (
    <form
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void make();
      }}
    >
      {others.length > 0 ? (
        <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
      ) : null}
      <Field
        label="Map"
        error={messageFor(errors, "map")}
        hint="The slider on the page chooses it."
      >
        {(ids) => <output {...ids}>{mapText(mapping, chosen)}</output>}
      </Field>
      <Rows label="What moves" rows={movesRows(chosen)} />
      <Rows label="What it costs" rows={costRows(mapping, chosen)} />
      <NumberField
        label="Moves per step"
        unit="flows or streams"
        hint={`The pace of the weights is ${paceText(flowsPerS)}; more in a step means a longer pause after it.`}
        value={text}
        onChange={setTyped}
        error={messageFor(errors, "moves_per_step")}
      />
      {perStep === undefined ? null : (
        <Rows label="How long it takes" rows={paceRows(paceOf(moves, perStep, flowsPerS))} />
      )}
      <TextField
        label="Title"
        required={false}
        hint="Left out: how many flows it moves, and of which mapping."
        value={title}
        onChange={setTitle}
        maxLength={LONGEST_TITLE}
        error={messageFor(errors, "title")}
      />
      <p className="lead">
        This makes a draft: nothing moves before it is approved and executed. A stream gets its
        first group before a flow enters it. A policy may ask for longer pauses.
      </p>
      <div className="formfoot">
        <span className="r">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <Command primary icon="plan" type="submit" disabled={busy} reason="It is being made.">
            Make a plan
          </Command>
        </span>
      </div>
    </form>
  );
}

/** What a study asks, as the server reads it. */

/** One edit of the model: `kind` and the fields that it needs. */
export type Edit = { kind: string } & Record<string, unknown>;

export type Axis = {
  label: string;
  edit: Edit;
  field: string;
  values: (number | string)[];
};

export type Group = { name: string; classes: string[] };

export type Segment = { label: string; duration_s: number; percent: Record<string, number> };

export type MethodChoice = { method: string; label: string; parameters: Record<string, unknown> };

export type SweepSpec = {
  kind: "sweep";
  methods: MethodChoice[];
  axes: Axis[];
  base: Edit[];
  scenarios: { label: string; edits: Edit[] }[];
  groups: Group[];
  seed: number;
  time_limit_s: number | null;
  keep_rates: boolean;
};

export type ScheduleSpec = {
  kind: "schedule";
  methods: MethodChoice[];
  base: Edit[];
  groups: Group[];
  seed: number;
  time_limit_s: number | null;
  keep_rates: boolean;
  segments: Segment[];
  warm: boolean;
};

export type Spec = SweepSpec | ScheduleSpec;

export type FieldError = { field: string; message: string };

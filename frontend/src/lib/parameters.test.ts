import { bendsUp, labelOf, parameterDraft, readParameters, type Parameter } from "./parameters";

const parameter = (name: string, type: string, more: Partial<Parameter> = {}): Parameter => ({
  name,
  type,
  unit: "",
  minimum: null,
  maximum: null,
  exclusive: false,
  help: "",
  required: true,
  default: null,
  ...more,
});

describe("parameters drawn from their description", () => {
  const described = [
    parameter("weight", "number"),
    parameter("rounds", "integer", { required: false, default: 250 }),
    parameter("points", "points"),
  ];

  it("starts with the defaults and the given values", () => {
    const draft = parameterDraft(described, {
      weight: 20,
      points: [
        [0, 0],
        [5, 2.5],
      ],
    });
    expect(draft).toEqual({
      weight: "20",
      rounds: "250",
      points: [
        { rate: "0", utility: "0" },
        { rate: "5", utility: "2.5" },
      ],
    });
    expect(readParameters(described, draft)).toEqual({
      values: {
        weight: 20,
        rounds: 250,
        points: [
          [0, 0],
          [5, 2.5],
        ],
      },
      errors: [],
    });
  });

  it("keeps objects and lists within a mapping, and texts that only look like them", () => {
    const fields = [parameter("fields", "mapping")];
    const values = {
      fields: {
        customfield_1: { value: "Normal: 2" },
        labels: ["a", "b"],
        title: "{title}",
        body: '{"text": "{text}"}',
        list: "[1]",
        quoted: '"bus"',
        team: "bus",
      },
    };
    const draft = parameterDraft(fields, values);
    expect(draft.fields).toContain('customfield_1: {"value":"Normal: 2"}');
    expect(readParameters(fields, draft)).toEqual({ values, errors: [] });
  });

  it("leaves out what goes with another choice", () => {
    const ways = [
      parameter("way", "string"),
      parameter("scope", "string", { only_with: { way: "oauth" } }),
      parameter("tries", "integer", { only_with: { way: "oauth" } }),
    ];
    const draft = { way: "basic", scope: "read", tries: "many" };
    expect(readParameters(ways, draft)).toEqual({ values: { way: "basic" }, errors: [] });
    expect(readParameters(ways, { ...draft, way: "oauth" }).errors).toHaveLength(1);
  });

  it("names the field of what is no number and leaves out what is empty", () => {
    const { values, errors } = readParameters(described, {
      weight: "much",
      rounds: "",
      points: [{ rate: "1", utility: "" }],
    });
    expect(values).not.toHaveProperty("rounds");
    expect(errors.map((error) => error.field)).toEqual([
      "parameters.weight",
      "parameters.points[0][1]",
    ]);
  });

  it("finds where a line of points bends upwards", () => {
    expect(
      bendsUp([
        [0, 0],
        [1, 1],
        [2, 1.5],
      ]),
    ).toEqual([]);
    expect(
      bendsUp([
        [0, 0],
        [1, 1],
        [2, 3],
      ]),
    ).toEqual([1]);
  });

  it("makes labels of names", () => {
    expect(labelOf("max_iterations")).toBe("Max iterations");
    expect(labelOf("threshold_s")).toBe("Threshold");
  });
});

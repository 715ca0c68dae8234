/** The fields of a system. */
import { ChoiceField, TextArea, TextField, WordsField } from "@/components/ui/fields";
import { EXTERNAL_ID_HINT, LABELS_HINT, readLabels } from "@/lib/labels";
import { messageFor, type FieldProblem } from "@/lib/problem";

export type SystemDraft = {
  name: string;
  description: string;
  product: string;
  resources: string[];
  external_id: string;
  labels: string[];
  reason: string;
};

/** Names of the members that have a field here. */
export const SYSTEM_FIELDS = [
  ...["name", "description", "product", "resources", "external_id", "labels", "reason"],
];

/** What is sent of a draft, or why it cannot be. */
export function systemBody(draft: SystemDraft): {
  body: Record<string, unknown>;
  errors: FieldProblem[];
} {
  const { labels, problem } = readLabels(draft.labels);
  return {
    body: { ...draft, labels },
    errors: problem === null ? [] : [{ field: "labels", message: problem }],
  };
}

/** What differs between two drafts, or two bodies. */
export const differing = <T extends object>(before: T, after: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(after).filter(
      ([name, value]) => JSON.stringify(before[name as keyof T]) !== JSON.stringify(value),
    ),
  ) as Partial<T>;

const PRODUCTS = [
  { value: "simulated", label: "Simulated" },
  { value: "nats", label: "NATS" },
  { value: "kafka", label: "Kafka (model only)" },
  { value: "rabbitmq", label: "RabbitMQ (model only)" },
  { value: "mqtt", label: "MQTT (model only)" },
];

/** Of these agents have no driver: `model_only` of a system says the same. */
const MODEL_ONLY: Record<string, string> = { kafka: "Kafka", rabbitmq: "RabbitMQ", mqtt: "MQTT" };

function productHint(product: string): string {
  const name = MODEL_ONLY[product];
  return name
    ? `Agents cannot steer ${name} yet: its model can be computed, its plans cannot be carried out.`
    : "What runs the messages.";
}

export function SystemForm({
  draft,
  onDraft,
  errors,
  disabled = false,
  onSubmit,
}: {
  draft: SystemDraft;
  onDraft: (draft: SystemDraft) => void;
  errors: readonly FieldProblem[];
  disabled?: boolean;
  onSubmit: () => void;
}) {
  const set = (change: Partial<SystemDraft>) => onDraft({ ...draft, ...change });
  return (
    <form
      id="system"
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <div className="grid2">
        <TextField
          label="Name"
          value={draft.name}
          disabled={disabled}
          error={messageFor(errors, "name")}
          onChange={(name) => set({ name })}
        />
        <ChoiceField
          label="Product"
          hint={productHint(draft.product)}
          options={PRODUCTS}
          value={draft.product}
          disabled={disabled}
          error={messageFor(errors, "product")}
          onChange={(product) => set({ product })}
        />
        <div className="wide">
          <WordsField
            label="Resources"
            hint="What brokers have a capacity of, such as cpu. Press Enter after each."
            value={draft.resources}
            disabled={disabled}
            error={messageFor(errors, "resources")}
            onChange={(resources) => set({ resources })}
          />
        </div>
        <div className="wide">
          <TextArea
            label="Description"
            required={false}
            value={draft.description}
            disabled={disabled}
            error={messageFor(errors, "description")}
            onChange={(description) => set({ description })}
          />
        </div>
        <TextField
          label="External id"
          hint={EXTERNAL_ID_HINT}
          required={false}
          value={draft.external_id}
          disabled={disabled}
          error={messageFor(errors, "external_id")}
          onChange={(external_id) => set({ external_id })}
          maxLength={200}
        />
        <WordsField
          label="Labels"
          hint={LABELS_HINT}
          required={false}
          value={draft.labels}
          disabled={disabled}
          error={messageFor(errors, "labels")}
          onChange={(labels) => set({ labels })}
          holdCommas
        />
        {disabled ? null : (
          <div className="wide">
            <TextField
              label="Reason"
              hint="Why; kept in the history."
              required={false}
              value={draft.reason}
              error={messageFor(errors, "reason")}
              onChange={(reason) => set({ reason })}
              maxLength={500}
            />
          </div>
        )}
      </div>
    </form>
  );
}

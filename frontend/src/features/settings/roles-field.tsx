/** The six roles as check boxes, each with what it may do. */
import { CheckField } from "@/components/ui/fields";

export const ROLES = ["viewer", "sender", "editor", "approver", "operator", "admin"] as const;
export type Role = (typeof ROLES)[number];

const MAY: Record<Role, string> = {
  viewer: "Read everything.",
  sender: "Send records; for collectors.",
  editor: "Edit the model, start runs, send records.",
  approver: "Approve or reject plans.",
  operator: "Execute approved plans.",
  admin: "People, credentials, policies.",
};

/** Which roles somebody may give a token: theirs, and those that may do no more. */
export const givenBy = (mine: readonly Role[]) =>
  ROLES.filter(
    (role) =>
      role === "viewer" || mine.includes(role) || (role === "sender" && mine.includes("editor")),
  );

export function RolesField({
  value,
  onChange,
  among = ROLES,
  error,
}: {
  value: readonly Role[];
  onChange: (roles: Role[]) => void;
  among?: readonly Role[];
  error?: string;
}) {
  return (
    <fieldset className="field">
      <legend className="lab">Roles</legend>
      <div className="grid2" style={{ display: "grid", gap: "8px 14px" }}>
        {among.map((role, index) => (
          <CheckField
            key={role}
            label={role.charAt(0).toUpperCase() + role.slice(1)}
            hint={MAY[role]}
            value={value.includes(role)}
            error={index === 0 ? error : undefined}
            onChange={(on) =>
              onChange(on ? [...value, role] : value.filter((other) => other !== role))
            }
          />
        ))}
      </div>
    </fieldset>
  );
}

/** The button of a command: disabled with its reason while the server is away. */
import { useOnline } from "@/api/live";

import { Icon, type IconName } from "./icons";

export function Command({
  icon,
  children,
  onClick,
  primary = false,
  small = false,
  danger = false,
  type = "button",
  disabled = false,
  reason,
  form,
  focus = false,
}: {
  icon?: IconName;
  children: React.ReactNode;
  onClick?: () => void;
  primary?: boolean;
  small?: boolean;
  danger?: boolean;
  type?: "button" | "submit";
  disabled?: boolean;
  /** Why it is disabled now. */
  reason?: string;
  form?: string;
  /** Where a dialog starts. */
  focus?: boolean;
}) {
  const online = useOnline();
  const why = online ? reason : "Offline: commands wait until the server answers again.";
  return (
    <button
      type={type}
      form={form}
      className={["btn", primary ? "pri" : "", danger ? "no" : "", small ? "sm" : ""]
        .filter(Boolean)
        .join(" ")}
      data-autofocus={focus || undefined}
      onClick={onClick}
      disabled={disabled || !online}
      title={disabled || !online ? why : undefined}
    >
      {icon ? <Icon name={icon} small /> : null}
      {children}
    </button>
  );
}

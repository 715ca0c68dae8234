/** A short word at the corner: what was done, and its undo where there is one. */
import { notifications } from "@mantine/notifications";

import { problemOf } from "@/lib/problem";

export function tell(title: string, message?: React.ReactNode) {
  notifications.show({ title, message: message ?? "", autoClose: 6000, withBorder: true });
}

export function tellFailure(title: string, error: unknown) {
  notifications.show({
    title,
    message: problemOf(error).detail,
    autoClose: 12_000,
    withBorder: true,
    color: "red",
  });
}

export function tellWithUndo(title: string, undo: () => Promise<unknown>) {
  const id = notifications.show({
    title,
    autoClose: 12_000,
    withBorder: true,
    message: (
      <button
        type="button"
        className="link"
        onClick={() => {
          notifications.hide(id);
          undo().then(
            () => tell("Undone"),
            (error: unknown) => tellFailure("Not undone", error),
          );
        }}
      >
        Undo
      </button>
    ),
  });
}

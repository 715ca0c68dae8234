/** A short word at the corner: what was done, and its undo where there is one. */
import { notifications } from "@mantine/notifications";

import { problemOf } from "@/lib/problem";

const CLOSE = { closeButtonProps: { "aria-label": "Close" }, withBorder: true };

export function tell(title: string, message?: React.ReactNode) {
  notifications.show({ ...CLOSE, title, message: message ?? "", autoClose: 6000 });
}

export function tellFailure(title: string, error: unknown) {
  notifications.show({
    ...CLOSE,
    title,
    message: problemOf(error).detail,
    autoClose: 12_000,
    color: "red",
  });
}

export function tellWithUndo(title: string, undo: () => Promise<unknown>) {
  const id = notifications.show({
    ...CLOSE,
    title,
    autoClose: 12_000,
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

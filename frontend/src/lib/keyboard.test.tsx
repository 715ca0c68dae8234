import { screen } from "@testing-library/react";
import { vi } from "vitest";

import { useKeys, type Keys } from "./keyboard";

import { renderUi } from "@/testing/render";

function Page({ keys }: { keys: Keys }) {
  useKeys(keys);
  return <input aria-label="Text" />;
}

it("hears keys, sequences and Ctrl, but not what is typed into a field", async () => {
  const home = vi.fn();
  const slash = vi.fn();
  const save = vi.fn();
  const { user } = renderUi(<Page keys={{ "g h": home, "/": slash, "ctrl+s": save }} />);
  await user.keyboard("gh/");
  expect(home).toHaveBeenCalledTimes(1);
  expect(slash).toHaveBeenCalledTimes(1);
  await user.click(screen.getByLabelText("Text"));
  await user.keyboard("gh/{Control>}s{/Control}");
  expect(home).toHaveBeenCalledTimes(1);
  expect(slash).toHaveBeenCalledTimes(1);
  expect(save).toHaveBeenCalledTimes(1);
});

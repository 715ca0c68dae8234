/** Addresses of this feature. */
const list = (system: string) => `/systems/${system}/correlation`;

export const correlationAt = {
  list,
  one: (system: string, id: string) => `${list(system)}/${id}`,
  /** `about`: the topic, such as `{ topic: id }`. */
  ask: (system: string, about: Record<string, string> = {}) =>
    `${list(system)}?${new URLSearchParams({ ...about, look: "1" }).toString()}`,
};

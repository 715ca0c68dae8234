/** Addresses of this feature. */
const list = (system: string) => `/systems/${system}/mappings`;

export const mappingsAt = {
  list,
  one: (system: string, id: string) => `${list(system)}/${id}`,
  ask: (system: string) => `${list(system)}?ask=1`,
};

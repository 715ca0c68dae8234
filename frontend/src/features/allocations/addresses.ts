/** Addresses of this feature. */
const list = (system: string) => `/systems/${system}/allocations`;

export const allocationsAt = {
  list,
  one: (id: string) => `/allocations/${id}`,
  ask: (system: string) => `${list(system)}?optimize=1`,
};

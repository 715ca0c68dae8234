/** Addresses of this feature. */
const list = (system: string) => `/systems/${system}/overlays/evaluations`;

export const evaluationsAt = {
  list,
  one: (system: string, id: string) => `${list(system)}/${id}`,
  ask: (system: string) => `/systems/${system}/topology?evaluate=1`,
};

/** Addresses of this feature. */
const list = (system: string) => `/systems/${system}/studies`;

/** A new study, perhaps of an `allocation`, or `from` another study. */
const ask = (system: string, about: Record<string, string> = {}) => {
  const query = new URLSearchParams(about).toString();
  return `${list(system)}/new${query === "" ? "" : `?${query}`}`;
};

export const studiesAt = { list, ask, one: (id: string) => `/studies/${id}` };

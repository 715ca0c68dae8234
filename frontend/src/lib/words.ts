/** Words for what the API names by identifiers: no page shows an identifier with underscores. */

export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** What somebody or Weir did, as it follows a name: "Ines Moreau approved". */
const ACTIONS: Record<string, string> = {
  abort: "aborted",
  accept: "accepted",
  accept_overload: "accepted the overload of",
  add: "added",
  adopt: "took over the model as what is in force",
  adopt_outcome: "recorded an action as done",
  adopt_restored: "accepted the restored state",
  apply: "applied",
  approve: "approved",
  break_off: "ended before it was complete",
  burn: "noted the burning budget of",
  cancel: "cancelled",
  change_approved: "noted the approved change of",
  change_deleted: "noted the deleted change of",
  change_doubled: "noted a second change of",
  change_moved: "noted the moved window of",
  change_password: "changed the password",
  change_refused: "noted the refused change of",
  change_waits: "noted the withdrawn approval of the change of",
  correct: "corrected costs",
  create: "created",
  decide: "decided about a stuck action",
  delete: "deleted",
  disable: "disabled",
  discard: "discarded",
  document: "opened or closed the record",
  dry_run: "checked without carrying out",
  enrol: "enrolled",
  estimate: "estimated",
  execute: "executed",
  expire: "let an approval expire",
  fail: "failed",
  finish: "finished",
  fire: "started a recomputation",
  fix_address: "fixed the address",
  go_stale: "found it stale",
  import: "carried out",
  lapse: "asked for a new review",
  lose: "ended an approval, or counted lost messages",
  move: "moved",
  open: "began",
  open_change: "opened the change of",
  pause: "paused",
  recover: "noted the recovery of",
  refuse_sign_in: "was refused to sign in",
  reject: "rejected",
  remove: "removed",
  rename: "renamed",
  replay: "took rows after all of",
  rerun: "computed again",
  resume: "resumed",
  resume_adaptation: "resumed the adaptation of",
  revert_outcome: "recorded an action as taken back",
  revoke: "revoked",
  roll_back: "rolled back",
  rotate_secret: "made a new secret for",
  run: "ran",
  set_access: "set access",
  set_address: "set the address",
  set_retention: "set retention",
  settle: "settled",
  sign_in: "signed in",
  sign_out: "signed out",
  spend_budget: "noted the spent budget of",
  start: "started",
  step_aborted: "took back a step",
  step_aborting: "began to take back a step",
  step_completed: "completed a step",
  step_dead: "left a step that needs a person",
  step_in_progress: "began a step",
  step_pending: "prepared a step",
  stop: "stopped",
  stop_adaptation: "stopped the adaptation of",
  submit: "sent for review",
  succeed: "completed",
  supersede: "replaced by a newer one",
  undo: "took back",
  update: "changed",
  withdraw: "withdrew",
};

/** An identifier as words: what no table knows still shows no underscore. */
export const plainWords = (name: string): string => name.replaceAll("_", " ");

export const actionWord = (action: string): string => ACTIONS[action] ?? plainWords(action);

/** Optimizers, planners, ways to make overlays, to place publishers and to map flows; the API has their full titles. */
const METHODS: Record<string, string> = {
  best_first: "Best-first search",
  concentrated: "Concentrated",
  exact: "Exact search",
  flat: "Flat",
  "groups-first": "Groups first",
  ipitt: "Integer program (IPITT)",
  iterative: "Iterative",
  joint: "Both layers at once",
  keep_today: "Do nothing",
  lrgp: "LRGP",
  max_min: "Max-min",
  load_balanced: "Load balanced",
  local_improvement: "Local improvement",
  minimum_cost: "Minimum cost tree",
  "random-restart": "Random restart",
  slides: "Edge slides",
  srtm: "SRTM",
  "streams-first": "Streams first",
  topic_connected: "Topic-connected",
};

export const methodWord = (name: string): string => METHODS[name] ?? capital(plainWords(name));

/** The methods of a run, which the API gives separated by commas. */
export const methodWords = (names: string): string[] => names.split(", ").map(methodWord);

/** The same in few words: more than one method is a number. */
export function methodsText(names: string): string {
  const words = methodWords(names);
  return words.length === 1 ? (words[0] ?? "") : `${words.length} methods`;
}

const UNITS: readonly (readonly [suffix: string, unit: string])[] = [
  ["_per_s", "per second"],
  ["_bytes", "bytes"],
  ["_share", "share"],
  ["_s", "s"],
];

/** A column of the database as the name of a field: "pace_s" is "pace, s". */
export function fieldWord(name: string): string {
  const found = UNITS.find(([suffix]) => name.endsWith(suffix) && name.length > suffix.length);
  return found ? `${plainWords(name.slice(0, -found[0].length))}, ${found[1]}` : plainWords(name);
}

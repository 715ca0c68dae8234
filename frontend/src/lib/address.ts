/** Addresses: of brokers by the rules of the API, said while one types; and of pages elsewhere. */

const SCHEMES = ["nats", "tls", "sim"];
const LONGEST = 300;
const EXAMPLE = "nats://10.1.2.3:4222 or tls://broker-1.example.org:4222";
const NO_ADDRESS = `This is no address; it looks like ${EXAMPLE}.`;

/** What is wrong with an address, as a sentence; empty when nothing is, or nothing is typed yet. */
export function addressFault(text: string): string {
  if (text === "") return "";
  if (text.length > LONGEST) return `An address has at most ${LONGEST} characters.`;
  if (/[^!-~]/.test(text)) return "An address holds no blanks and no special characters.";
  const [, scheme, rest] = /^([a-z]+):\/\/(.*)$/i.exec(text) ?? [];
  if (scheme === undefined || rest === undefined || !SCHEMES.includes(scheme.toLowerCase())) {
    return "An address begins with nats://, tls:// or sim://.";
  }
  const end = rest.search(/[/?#]/);
  const place = end === -1 ? rest : rest.slice(0, end);
  if (place.includes("@")) {
    return "An address holds no user and no password: agents prove who they are by a key.";
  }
  const [, host, port] = /^(\[[\da-f:.]+\]|[^:[\]]*)(?::(\d*))?$/i.exec(place) ?? [];
  if (host === undefined || Number(port ?? 0) > 65_535) return NO_ADDRESS;
  if (host === "") return `The host is missing; an address looks like ${EXAMPLE}.`;
  if (end !== -1) return "An address ends with host and port; leave out what follows.";
  if (scheme.toLowerCase() !== "sim" && !Number(port ?? 0)) {
    return `The port is missing; an address looks like ${EXAMPLE}.`;
  }
  return "";
}

/** Whether a text is an address that a browser may open: nothing else becomes a link. */
export function isWebAddress(text: string): boolean {
  if (!/^https?:\/\/[^\s/]\S*$/i.test(text)) return false;
  try {
    // Not `URL.canParse`, which browsers of 2023 lack.
    new URL(text);
  } catch {
    return false;
  }
  return true;
}

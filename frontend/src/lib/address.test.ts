import { addressFault, isWebAddress } from "./address";

it.each([
  "",
  "nats://10.1.2.3:4222",
  "tls://broker-1.example.org:4222",
  "tls://[2001:db8::1]:4222",
  "sim://rot-1",
])("takes %j", (address) => {
  expect(addressFault(address)).toBe("");
});

it.each([
  ["the broker in Rotterdam", /no blanks/],
  ["rot-1", /begins with/],
  ["http://rot-1:4222", /begins with/],
  ["tls://user:secret@rot-1:4222", /no user and no password/],
  ["tls://:4222", /host is missing/],
  ["tls://rot-1", /port is missing/],
  ["tls://rot-1:0", /port is missing/],
  ["tls://rot-1:port", /no address/],
  ["tls://rot-1:70000", /no address/],
  ["tls://rot-1:4222/", /leave out what follows/],
  [`tls://${"r".repeat(300)}:4222`, /at most 300/],
])("says what is wrong with %j", (address, fault) => {
  expect(addressFault(address)).toMatch(fault);
});

it.each([
  "https://tickets.example.org/CHG-1",
  "http://tickets:8080/browse/CHG-1?x=1",
  "HTTPS://a.b",
])("makes a link of %j", (text) => {
  expect(isWebAddress(text)).toBe(true);
});

it.each([
  "",
  "CHG0042317",
  "javascript:alert(1)",
  "data:text/html,x",
  "ftp://tickets.example.org",
  "https://",
  "see https://tickets.example.org",
  "https://tickets.example.org and more",
])("makes no link of %j", (text) => {
  expect(isWebAddress(text)).toBe(false);
});

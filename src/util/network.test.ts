import { expect, test } from "vitest";
import { networkOf } from "./network.ts";

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["::ffff:10.0.0.7", "10.0.0.7"],
  ["::1", "0:0:0:0"],
  ["2001:db8::7", "2001:db8:0:0"],
  ["2001:DB8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:db8:1:2::", "2001:db8:1:2"],
  ["fe80::1:2:3:4%eth0", "fe80:0:0:0"],
  ["1:2:3:4:5:6:7:8::9", "1:2:3:4"],
])("%s belongs to %s", (ip, network) => {
  expect(networkOf(ip)).toBe(network);
});

// What runs inside Redis: one script checks all windows and counts in all or none. Same arithmetic as memory.ts.
import { createHash } from "node:crypto";
import { SLICES } from "./slices.ts";

export interface Script {
  readonly lua: string;
  readonly sha: string;
}

const script = (lua: string): Script => ({
  lua,
  sha: createHash("sha1").update(lua).digest("hex"),
});

/** ARGV: the time in ms or "" for the server's own, then what the script itself needs. */
const COMMON = `
local SLICES = ${SLICES}
local now = tonumber(ARGV[1])
if not now then
  local t = redis.call("TIME")
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end

-- The counts by slice of one counter, and its present slice. A counter that cannot be one stops everything.
local function read(key, sliceMs)
  local flat = redis.call("HGETALL", key)
  local counts, slice = {}, math.floor(now / sliceMs)
  for i = 1, #flat, 2 do
    local at, count = tonumber(flat[i]), tonumber(flat[i + 1])
    if not at or not count or count < 0 or count ~= math.floor(count) or count > 9007199254740991 then
      return nil, "BROKEN counter " .. key
    end
    counts[at] = count
    if at > slice then slice = at end
  end
  return counts, slice
end

local function field(slice) return string.format("%.0f", slice) end
`;

export const TAKE = script(`${COMMON}
local commit = ARGV[2] == "1"
local ok = 1
local seen = {}
for i, key in ipairs(KEYS) do
  local limit, window = tonumber(ARGV[2 * i + 1]), tonumber(ARGV[2 * i + 2])
  local sliceMs = math.ceil(window / SLICES)
  local counts, slice = read(key, sliceMs)
  if not counts then return redis.error_reply(slice) end
  local total = 0
  for at = slice - SLICES, slice do total = total + (counts[at] or 0) end
  if total >= limit then ok = 0 end
  seen[i] = { key = key, limit = limit, window = window, sliceMs = sliceMs, counts = counts, slice = slice, total = total }
end

if commit and ok == 1 then
  for _, c in ipairs(seen) do
    for at in pairs(c.counts) do
      if at < c.slice - SLICES then redis.call("HDEL", c.key, field(at)) end
    end
    redis.call("HINCRBY", c.key, field(c.slice), 1)
    redis.call("PEXPIRE", c.key, 2 * c.window + c.sliceMs)
    c.counts[c.slice] = (c.counts[c.slice] or 0) + 1
    c.total = c.total + 1
  end
end

local answer = { ok }
for _, c in ipairs(seen) do
  local remaining, reset = math.max(0, c.limit - c.total), 0
  if c.limit == 0 then
    reset = c.window
  elseif c.total > 0 then
    local enough = remaining > 0 and 0 or c.limit - 1
    local left, at = c.total, c.slice - SLICES - 1
    while left > enough do
      at = at + 1
      left = left - (c.counts[at] or 0)
    end
    reset = math.ceil((at + SLICES + 1) * c.sliceMs - now)
  end
  answer[#answer + 1] = remaining
  answer[#answer + 1] = reset
end
return answer
`);

export const REFUND = script(`${COMMON}
for i, key in ipairs(KEYS) do
  local sliceMs = math.ceil(tonumber(ARGV[i + 1]) / SLICES)
  local counts, slice = read(key, sliceMs)
  if not counts then return redis.error_reply(slice) end
  for at = slice, slice - SLICES, -1 do
    if (counts[at] or 0) > 0 then
      redis.call("HINCRBY", key, field(at), -1)
      break
    end
  end
end
return 1
`);

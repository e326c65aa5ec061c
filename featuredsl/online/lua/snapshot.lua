-- Writes one batch snapshot per key: keeps the newest and the one before it, newest first.
-- KEYS = hashes; ARGV[1] = field, ARGV[2] = expiry in ms since 1970 (0 = never), ARGV[2 + i] = snapshot i:
-- as_of (8 bytes), length (4 bytes), payload. Stored: one version byte, then 1..2 snapshots.
-- Returns {written, older than both kept, keys that hold something else (wrong type or format version)}.
local field, expire_at = ARGV[1], tonumber(ARGV[2])
local unpack, sub = struct.unpack, string.sub
local VERSION = '\1'
local written, older, wrong = 0, 0, 0

local function split(value)
  local out, at = {}, 2
  while at <= #value do
    local as_of, length = unpack('>lI4', value, at)
    local stop = at + 12 + length
    out[#out + 1] = { as_of, sub(value, at, stop - 1) }
    at = stop
  end
  return out
end

local function merge(stored, as_of, snapshot)
  local kept, placed = {}, false
  for _, entry in ipairs(stored) do
    if entry[1] == as_of then
      kept[#kept + 1] = snapshot
      placed = true
    else
      if entry[1] < as_of and not placed then
        kept[#kept + 1] = snapshot
        placed = true
      end
      kept[#kept + 1] = entry[2]
    end
  end
  if not placed then kept[#kept + 1] = snapshot end
  return kept
end

for i, key in ipairs(KEYS) do
  local snapshot = ARGV[2 + i]
  local as_of = unpack('>l', snapshot)
  local value = redis.pcall('HGET', key, field)
  if type(value) == 'table' or (value and sub(value, 1, 1) ~= VERSION) then
    wrong = wrong + 1
  else
    local stored = value and split(value) or {}
    if #stored == 2 and as_of < stored[2][1] then
      older = older + 1
    else
      local kept = merge(stored, as_of, snapshot)
      redis.call('HSET', key, field, VERSION .. kept[1] .. (kept[2] or ''))
      if expire_at > 0 and redis.call('PEXPIRETIME', key) < expire_at then
        redis.call('PEXPIREAT', key, ARGV[2])
      end
      written = written + 1
    end
  end
end
return { written, older, wrong }

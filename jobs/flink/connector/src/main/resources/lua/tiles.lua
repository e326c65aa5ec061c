-- Writes tiles of variable width into fields of hashes. One row per key: KEYS[i] = hash, ARGV[4 + i] = the field's value:
-- version, tile, row count (big-endian), the rest as it is.
-- ARGV[1] = what stands before the slot's number in a field, [2] = slots, [3] = hop in microseconds, [4] = expiry after the
-- end of the tile in microseconds (0 = never).
-- A tile is written when its field holds an older tile, or the same one with no more rows. A key expires at an absolute
-- time, which only ever moves later. Returns {written, refused, keys or fields that hold something else}.
local prefix, slots, hop, keep = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local call, pcall, unpack = redis.call, redis.pcall, struct.unpack
local VERSION, HEAD = '\1', 25
local written, refused, wrong = 0, 0, 0

local function expire(key, tile)
  local at = math.ceil(((tile + 1) * hop + keep) / 1000)
  if call('PEXPIRETIME', key) < at then call('PEXPIREAT', key, string.format('%.0f', at)) end
end

local function write(key, field, value, tile)
  call('HSET', key, field, value)
  if keep > 0 then expire(key, tile) end
  written = written + 1
end

for i, key in ipairs(KEYS) do
  local value = ARGV[4 + i]
  local tile, rows = unpack('>ll', value, 2)
  local field = prefix .. string.format('%.0f', tile % slots)
  local found = pcall('HGET', key, field)
  if not found then
    write(key, field, value, tile)
  elseif type(found) == 'table' or #found < HEAD or string.sub(found, 1, 1) ~= VERSION then
    wrong = wrong + 1
  else
    local stored, stored_rows = unpack('>ll', found, 2)
    if stored < tile or (stored == tile and stored_rows <= rows) then
      write(key, field, value, tile)
    else
      refused = refused + 1
    end
  end
end
return { written, refused, wrong }

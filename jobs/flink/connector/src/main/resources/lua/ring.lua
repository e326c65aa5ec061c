-- Writes tiles into packed rings. One row per key: KEYS[i] = ring, ARGV[8 + i] = slot (tile, row count, ... big-endian).
-- ARGV[1] = header, [2] = offset of the tier, [3] = slots, [4] = slot size, [5] = size of the whole ring, [6] = hop in
-- microseconds, [7] = expiry after the end of the tile in microseconds (0 = never), [8] = 1: the hash of the entity, of the
-- same slot, is kept for as long.
-- A tile is written when the slot holds an older tile, or the same one with no more rows. A key expires at an absolute
-- time, which only ever moves later. Returns {written, refused, keys that hold something else}.
local header, offset, slots, size = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local last, hop, keep, with_hash = tonumber(ARGV[5]) - 1, tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8] == '1'
local call, pcall, unpack, format = redis.call, redis.pcall, struct.unpack, string.format
local written, refused, wrong = 0, 0, 0

local function expire(key, tile, ...)
  if keep > 0 then
    local at = format('%.0f', math.ceil(((tile + 1) * hop + keep) / 1000))
    call('PEXPIREAT', key, at, ...)
    if with_hash then pcall('PEXPIREAT', string.sub(key, 1, -2) .. 'X', at, 'GT') end -- fails while its slot moves
  end
end

local function create(key, at, slot, tile)
  call('SETRANGE', key, format('%d', last), '\0') -- first: a new string gets just these bytes, one that grows twice as many
  call('SETRANGE', key, '0', header)
  call('SETRANGE', key, at, slot)
  expire(key, tile)
end

-- Where slots begin, and where their row counts end, by number, as texts: Redis turns the numbers of a script into texts
-- anew at each call, which took a third of the time of a row.
local begins, ends = {}, {}

local function place(number)
  local at = begins[number]
  if not at then
    at = format('%d', offset + number * size)
    begins[number], ends[number] = at, format('%d', offset + number * size + 15)
  end
  return at, ends[number]
end

for i, key in ipairs(KEYS) do
  local slot = ARGV[8 + i]
  local tile, rows = unpack('>ll', slot)
  local at, to = place(tile % slots)
  local found = pcall('GETRANGE', key, '0', '7')
  if found == '' then
    create(key, at, slot, tile)
    written = written + 1
  elseif found ~= header then -- another type, or the ring of another definition
    wrong = wrong + 1
  else
    local stored, stored_rows = unpack('>ll', call('GETRANGE', key, at, to))
    if stored_rows == 0 or stored < tile or (stored == tile and stored_rows <= rows) then
      call('SETRANGE', key, at, slot)
      if stored_rows == 0 or stored < tile then expire(key, tile, 'GT') end
      written = written + 1
    else
      refused = refused + 1
    end
  end
end
return { written, refused, wrong }

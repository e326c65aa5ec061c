-- Writes sessions into fields of hashes, all of an entity into one field: the version, 1 where records had to make room and 0
-- where none had, then records, the newest first. One per key: KEYS[i] = hash, ARGV[4 + i] = record: last event, first event,
-- row count, length of the content, content.
-- ARGV[1] = field, [2] = how many records stay, [3] = gap in microseconds, [4] = expiry after the close of a session in
-- microseconds (0 = never).
-- Records less than a gap apart are one session as it grew: one with more rows stays. With as many rows it is either the
-- same session again, which is written, or a piece of one that was stored before a restart: the stored one stays. Of the
-- others the newest stay. A key expires at an absolute time, which only ever moves later, and not before the ring of the
-- entity, of the same slot. Returns {written, refused, keys or fields that hold something else}.
local field, slots, gap, keep = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local call, pcall, unpack = redis.call, redis.pcall, struct.unpack
local VERSION, WHOLE, CUT, HEAD = '\1', '\0', '\1', 28
local written, refused, wrong = 0, 0, 0

local function record(bytes, at)
  local last, first, rows, length = unpack('>lllI4', bytes, at)
  return { last = last, first = first, rows = rows, bytes = string.sub(bytes, at, at + HEAD + length - 1) }
end

local function records(value)
  local found, at = {}, 3
  while at <= #value do
    local one = record(value, at)
    found[#found + 1] = one
    at = at + #one.bytes
  end
  return found
end

-- The records with a new one in its place, or nil where one of the same session stays; and whether the new one is among
-- those that stay.
local function merged(stored, new)
  local kept, place = {}, 1
  for _, one in ipairs(stored) do
    if new.first - one.last >= gap or one.first - new.last >= gap then
      kept[#kept + 1] = one
      if one.last > new.last then place = #kept + 1 end
    elseif one.rows > new.rows or (one.rows == new.rows and (one.first ~= new.first or one.last ~= new.last)) then
      return nil, false
    end
  end
  table.insert(kept, place, new)
  return kept, place <= slots
end

local function write(key, kept, cut, new)
  local bytes = { VERSION, (cut or #kept > slots) and CUT or WHOLE }
  for i = 1, math.min(#kept, slots) do bytes[i + 2] = kept[i].bytes end
  call('HSET', key, field, table.concat(bytes))
  if keep > 0 then
    local ring = pcall('PEXPIRETIME', string.sub(key, 1, -2) .. 'R')
    local at = math.max(math.ceil((new.last + gap + keep) / 1000), type(ring) == 'number' and ring or 0) -- its slot may move
    if call('PEXPIRETIME', key) < at then call('PEXPIREAT', key, string.format('%.0f', at)) end
  end
end

for i, key in ipairs(KEYS) do
  local new = record(ARGV[4 + i], 1)
  local found = pcall('HGET', key, field)
  if type(found) == 'table' or found and (#found < 2 or string.sub(found, 1, 1) ~= VERSION) then
    wrong = wrong + 1
  else
    local kept, stays = merged(found and records(found) or {}, new)
    if kept then write(key, kept, found and string.sub(found, 2, 2) == CUT, new) end
    if stays then written = written + 1 else refused = refused + 1 end
  end
end
return { written, refused, wrong }

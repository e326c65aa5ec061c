-- Writes ranked values into hash fields. ARGV[1] = number of fields n, ARGV[2 .. n + 1] = their names; then, per KEYS[i],
-- expiry in milliseconds since 1970 (0 = never) and n values, '' where there is none.
-- A value is written when its rank is greater than the stored one, byte by byte; the time of expiry only moves later.
-- Returns {written, refused, keys of another type}, counted by key: a key is written when any of its fields is.
local n = tonumber(ARGV[1])
local call, pcall, byte, sub = redis.call, redis.pcall, string.byte, string.sub
local written, refused, wrong = 0, 0, 0

local function less(a, b) -- not `<`, which follows the locale of the server
  if a == b then return false end
  local i = 1
  while sub(a, i, i + 15) == sub(b, i, i + 15) do i = i + 16 end
  for j = i, i + 15 do
    local x, y = byte(a, j) or -1, byte(b, j) or -1
    if x ~= y then return x < y end
  end
end

local names = {}
for j = 1, n do names[j] = ARGV[1 + j] end

for i, key in ipairs(KEYS) do
  local base = 2 + n + (i - 1) * (n + 1)
  local stored = pcall('HMGET', key, unpack(names))
  if stored.err then
    wrong = wrong + 1
  else
    local changes = {}
    for j = 1, n do
      local value = ARGV[base + j]
      if value ~= '' and (not stored[j] or less(stored[j], value)) then
        changes[#changes + 1] = names[j]
        changes[#changes + 1] = value
      end
    end
    if #changes > 0 then
      call('HSET', key, unpack(changes))
      local at = tonumber(ARGV[base])
      if at > 0 and call('PEXPIRETIME', key) < at then call('PEXPIREAT', key, ARGV[base]) end
      written = written + 1
    else
      refused = refused + 1
    end
  end
end
return { written, refused, wrong }

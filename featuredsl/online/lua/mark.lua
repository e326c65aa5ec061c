-- Records that a batch tier is complete as of a time: the newest and the one before it stay, newest first.
-- KEYS[1] = hash of marks, ARGV[1] = field, ARGV[2] = as_of. Returns {1}.
local times = { ARGV[2] }
for time in string.gmatch(redis.call('HGET', KEYS[1], ARGV[1]) or '', '[^,]+') do
  if time ~= ARGV[2] then times[#times + 1] = time end
end
table.sort(times, function(left, right) return tonumber(left) > tonumber(right) end)
redis.call('HSET', KEYS[1], ARGV[1], table.concat(times, ',', 1, math.min(#times, 2)))
return { 1 }

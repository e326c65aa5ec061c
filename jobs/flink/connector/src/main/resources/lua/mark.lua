-- Marks how far a tier is complete. KEYS[i] = a hash; ARGV = its field, the run of the job, the subtask, how many subtasks
-- there are, then for each key the time in microseconds up to which this subtask has written everything.
-- Stored: 'closed run time0 time1 ...', '-' for a time that is not known. closed = the earliest time of all subtasks of a
-- run, and never goes back; what subtasks of another run have said does not count.
-- Returns {written, refused, keys of another type}.
local field, run, subtask, subtasks = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local written, refused, wrong = 0, 0, 0

local function split(text)
  local words = {}
  for word in string.gmatch(text, '%S+') do words[#words + 1] = word end
  return words
end

local function later(a, b) -- numbers below 2^53 stand exactly in a double; '-' is before all of them
  return b ~= '-' and (a == '-' or tonumber(b) > tonumber(a)) and b or a
end

for i, key in ipairs(KEYS) do
  local stored = redis.pcall('HGET', key, field)
  if type(stored) == 'table' then
    wrong = wrong + 1
  else
    local words = split(stored or '- -')
    local closed, times = words[1], {}
    for j = 1, subtasks do times[j] = words[2] == run and words[2 + j] or '-' end
    times[subtask + 1] = later(times[subtask + 1], ARGV[4 + i])
    local earliest = times[1]
    for j = 2, subtasks do
      if later(times[j], earliest) == earliest then earliest = times[j] end
    end
    local value = later(closed, earliest) .. ' ' .. run .. ' ' .. table.concat(times, ' ')
    if value == stored then
      refused = refused + 1
    else
      redis.call('HSET', key, field, value)
      written = written + 1
    end
  end
end
return { written, refused, wrong }

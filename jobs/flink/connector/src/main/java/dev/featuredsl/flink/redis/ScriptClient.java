package dev.featuredsl.flink.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisAskDataException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisMovedDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;
import redis.clients.jedis.util.JedisClusterCRC16;

/**
 * One script: a batch of writes is one EVALSHA, or of a cluster one pipeline to each node with one EVALSHA for each slot. Not
 * thread safe; lives on the writer's IO thread.
 */
final class ScriptClient implements AutoCloseable {
    private static final int ATTEMPTS = 16;

    /** What the server did with the keys of a batch. */
    static final class Outcome {
        final long written;
        final long refused;
        final long wrong;

        Outcome(long[] counts) {
            written = counts[0];
            refused = counts[1];
            wrong = counts[2];
        }
    }

    /** Writes for one slot; {@code asked} is the node to try after an ASK, {@code whole} sends the script's text. */
    private static final class Call {
        final int slot;
        final List<Write> writes = new ArrayList<>();
        HostAndPort asked;
        boolean whole;

        Call(int slot) {
            this.slot = slot;
        }
    }

    private final boolean cluster;
    private final byte[] script;
    private final byte[] sha;
    private final byte[][] common;
    private final Nodes nodes;

    ScriptClient(SinkConfig config, String script, byte[][] commonArguments) {
        this.script = load("/lua/" + script + ".lua");
        RedisAddress address = new RedisAddress(config.url);
        this.sha = sha1(this.script);
        this.common = commonArguments;
        this.cluster = address.cluster;
        this.nodes = new Nodes(address, config.timeoutMillis, this.script);
    }

    /** Writes everything; after an exception the connections must be closed, and nothing is known of any write. */
    Outcome write(List<Write> batch) {
        List<Call> waiting = calls(batch);
        long[] counts = new long[3];
        for (int i = 0; i < ATTEMPTS; i++) {
            waiting = attempt(waiting, counts);
            if (waiting.isEmpty()) {
                return new Outcome(counts);
            }
        }
        throw new JedisDataException("TRYAGAIN the slots of the cluster keep moving");
    }

    private List<Call> calls(List<Write> batch) {
        Map<Integer, Call> bySlot = new LinkedHashMap<>();
        for (Write write : batch) {
            int slot = cluster ? JedisClusterCRC16.getSlot(write.key) : 0;
            bySlot.computeIfAbsent(slot, Call::new).writes.add(write);
        }
        return new ArrayList<>(bySlot.values());
    }

    /** Sends every call to its node, then reads the replies; returns what has to be sent again. */
    private List<Call> attempt(List<Call> calls, long[] counts) {
        Map<Nodes.Node, List<Call>> sent = new LinkedHashMap<>();
        for (Call call : calls) {
            Nodes.Node node = nodes.connection(call.asked == null ? nodes.of(call.slot) : call.asked);
            sent.computeIfAbsent(node, unused -> new ArrayList<>()).add(call);
            if (call.asked != null) {
                node.sendCommand(Protocol.Command.ASKING);
            }
            node.sendCommand(
                    call.whole ? Protocol.Command.EVAL : Protocol.Command.EVALSHA,
                    parameters(call.whole ? script : sha, call.writes));
        }
        sent.keySet().forEach(Nodes.Node::push);
        List<Call> again = new ArrayList<>();
        sent.forEach((node, of) -> receive(node, of, counts, again));
        return again;
    }

    private void receive(Nodes.Node node, List<Call> calls, long[] counts, List<Call> again) {
        for (Call call : calls) {
            if (call.asked != null) {
                node.getOne();
                call.asked = null;
            }
            try {
                List<?> found = (List<?>) node.getOne();
                for (int i = 0; i < counts.length; i++) {
                    counts[i] += (Long) found.get(i);
                }
                continue;
            } catch (JedisMovedDataException moved) {
                nodes.moved(call.slot, moved.getTargetNode());
            } catch (JedisAskDataException moving) {
                call.asked = moving.getTargetNode();
            } catch (JedisNoScriptException flushed) {
                call.whole = true; // loading it first would lose the race against the next flush
            }
            again.add(call);
        }
    }

    private byte[][] parameters(byte[] first, List<Write> batch) {
        int perRow = batch.get(0).arguments().length;
        int keys = batch.size();
        byte[][] out = new byte[2 + keys + common.length + keys * perRow][];
        out[0] = first;
        out[1] = Ascii.bytes(keys);
        System.arraycopy(common, 0, out, 2 + keys, common.length);
        for (int i = 0; i < keys; i++) {
            out[2 + i] = batch.get(i).key;
            System.arraycopy(batch.get(i).arguments(), 0, out, 2 + keys + common.length + i * perRow, perRow);
        }
        return out;
    }

    private static byte[] sha1(byte[] script) {
        try {
            StringBuilder hex = new StringBuilder();
            for (byte b : MessageDigest.getInstance("SHA-1").digest(script)) {
                hex.append(String.format("%02x", b));
            }
            return hex.toString().getBytes(StandardCharsets.US_ASCII);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    private static byte[] load(String resource) {
        try (InputStream in = ScriptClient.class.getResourceAsStream(resource)) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Drops the connections, whose state is unknown after a failure; the next write connects again. */
    @Override
    public void close() {
        nodes.close();
    }
}

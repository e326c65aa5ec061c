package dev.featuredsl.flink.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.List;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisNoScriptException;
import redis.clients.jedis.util.JedisURIHelper;

/** One connection and one script: a batch of writes is one EVALSHA. Not thread safe; lives on the writer's IO thread. */
final class ScriptClient implements AutoCloseable {
    /** What the server did with the keys of a batch. */
    static final class Outcome {
        final long written;
        final long refused;
        final long wrong;

        Outcome(List<?> counts) {
            written = (Long) counts.get(0);
            refused = (Long) counts.get(1);
            wrong = (Long) counts.get(2);
        }
    }

    private final SinkConfig config;
    private final byte[] script;
    private final byte[][] common;
    private volatile Jedis connection;
    private byte[] sha;

    ScriptClient(SinkConfig config, String script, byte[][] commonArguments) {
        this.config = config;
        this.script = load("/lua/" + script + ".lua");
        this.common = commonArguments;
    }

    Outcome write(List<Write> batch) {
        if (connection == null) {
            Jedis fresh = connect();
            connection = fresh;
            sha = fresh.scriptLoad(script);
        }
        byte[][] parameters = parameters(batch);
        try {
            return evaluate(batch.size(), parameters);
        } catch (JedisNoScriptException flushed) {
            sha = connection.scriptLoad(script);
            return evaluate(batch.size(), parameters);
        }
    }

    private Outcome evaluate(int keys, byte[][] parameters) {
        return new Outcome((List<?>) connection.evalsha(sha, keys, parameters));
    }

    private byte[][] parameters(List<Write> batch) {
        int perRow = batch.get(0).arguments().length;
        int keys = batch.size();
        byte[][] out = new byte[keys + common.length + keys * perRow][];
        System.arraycopy(common, 0, out, keys, common.length);
        for (int i = 0; i < keys; i++) {
            out[i] = batch.get(i).key;
            System.arraycopy(batch.get(i).arguments(), 0, out, keys + common.length + i * perRow, perRow);
        }
        return out;
    }

    private Jedis connect() {
        URI uri = URI.create(config.url);
        HostAndPort address = JedisURIHelper.getHostAndPort(uri);
        return new Jedis(address, DefaultJedisClientConfig.builder()
                .connectionTimeoutMillis(config.timeoutMillis)
                .socketTimeoutMillis(config.timeoutMillis)
                .user(JedisURIHelper.getUser(uri))
                .password(JedisURIHelper.getPassword(uri))
                .database(JedisURIHelper.getDBIndex(uri))
                .ssl(JedisURIHelper.isRedisSSLScheme(uri))
                .build());
    }

    private static byte[] load(String resource) {
        try (InputStream in = ScriptClient.class.getResourceAsStream(resource)) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Drops the connection, whose state is unknown after a failure; the next write connects again. */
    @Override
    public void close() {
        Jedis old = connection;
        connection = null;
        if (old != null) {
            try {
                old.close();
            } catch (RuntimeException alreadyBroken) {
                // nothing is left to close
            }
        }
    }
}

package dev.featuredsl.flink.redis;

import java.util.regex.Pattern;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/** Which failures pass by themselves. */
final class Failures {
    private static final Pattern PASSING =
            Pattern.compile("(LOADING|BUSY|READONLY|OOM|MASTERDOWN|TRYAGAIN|CLUSTERDOWN|NOREPLICAS|MISCONF)\\b.*", Pattern.DOTALL);

    private Failures() {}

    /** Connection loss, start, failover and lack of memory pass; a wrong password or a script error does not. */
    static boolean passes(Throwable error) {
        return error instanceof JedisConnectionException
                || (error instanceof JedisDataException && PASSING.matcher(String.valueOf(error.getMessage())).matches());
    }
}

package dev.featuredsl.flink.redis;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.table.api.ValidationException;
import redis.clients.jedis.HostAndPort;

/** An address as in {@code featuredsl/online/address.py}: redis, rediss, redis+cluster, rediss+cluster. */
final class RedisAddress {
    private static final int PORT = 6379;
    private static final Pattern URL = Pattern.compile("(rediss?(?:\\+cluster)?)://([^/?]*)(/[^?]*)?(?:\\?(.*))?");
    private static final List<String> FILES = List.of("ssl_ca_certs", "ssl_certfile", "ssl_keyfile");

    final List<HostAndPort> nodes = new ArrayList<>();
    final boolean cluster;
    final boolean tls;
    final String user;
    final String password;
    final int database;
    final Map<String, String> files = new HashMap<>();

    /** Throws a ValidationException, without the password, for any other text. */
    RedisAddress(String url) {
        String safe = url.replaceFirst("//[^/]*@", "//");
        Matcher parts = URL.matcher(url);
        if (!parts.matches()) {
            throw wrong(safe, "it does not begin with redis://, rediss://, redis+cluster:// or rediss+cluster://");
        }
        tls = parts.group(1).startsWith("rediss");
        cluster = parts.group(1).endsWith("+cluster");
        String authority = parts.group(2);
        int at = authority.lastIndexOf('@');
        String[] login = at < 0 ? new String[] {"", ""} : (authority.substring(0, at) + ":").split(":", -1);
        user = login[0].isEmpty() ? null : unescaped(login[0]);
        password = login[1].isEmpty() ? null : unescaped(login[1]);
        for (String node : authority.substring(at + 1).split(",", -1)) {
            nodes.add(node(node, safe));
        }
        if (nodes.size() > 1 && !cluster) {
            throw wrong(safe, "several hosts need redis+cluster://");
        }
        database = options(parts.group(3), parts.group(4), safe);
    }

    private int options(String path, String query, String safe) {
        String db = path == null ? "" : path.replace("/", "");
        for (String pair : query == null ? new String[0] : query.split("&")) {
            String[] parts = pair.split("=", 2);
            if (parts.length == 2 && parts[0].equals("db")) {
                db = parts[1];
            } else if (parts.length == 2 && FILES.contains(parts[0]) && tls) {
                files.put(parts[0], URLDecoder.decode(parts[1], StandardCharsets.UTF_8));
            } else {
                throw wrong(safe, "option '" + parts[0] + "'; known are " + FILES + ", with rediss://");
            }
        }
        if (!db.matches("\\d{0,9}")) {
            throw wrong(safe, "'" + db + "' is no database number");
        }
        int number = db.isEmpty() ? 0 : Integer.parseInt(db);
        if (cluster && number != 0) {
            throw wrong(safe, "a cluster has only database 0");
        }
        return number;
    }

    private static HostAndPort node(String text, String safe) {
        int colon = text.endsWith("]") ? -1 : text.lastIndexOf(':');
        String host = (colon < 0 ? text : text.substring(0, colon)).replaceAll("[\\[\\]]", "");
        String port = colon < 0 ? String.valueOf(PORT) : text.substring(colon + 1);
        if (host.isEmpty() || host.contains(" ") || !port.matches("\\d{1,5}") || Integer.parseInt(port) > 65_535) {
            throw wrong(safe, "'" + text + "' is no host:port");
        }
        return new HostAndPort(host, Integer.parseInt(port));
    }

    private static String unescaped(String text) {
        return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    private static RuntimeException wrong(String safe, String why) {
        return new ValidationException(
                "featuredsl-redis: url '" + safe + "' is not a Redis address: " + why);
    }
}

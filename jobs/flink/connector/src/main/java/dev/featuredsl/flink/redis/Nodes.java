package dev.featuredsl.flink.redis;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import redis.clients.jedis.ClientSetInfoConfig;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** Connections to the nodes of an address, and which node serves a slot. Used by one thread; any may close it. */
final class Nodes implements AutoCloseable {
    /** A connection whose buffered commands can be sent before their replies are waited for. */
    static final class Node extends Connection {
        Node(HostAndPort at, JedisClientConfig config) {
            super(at, config);
        }

        void push() {
            flush();
        }
    }

    private final RedisAddress address;
    private final JedisClientConfig config;
    private final byte[] script;
    private final Map<HostAndPort, Node> open = new ConcurrentHashMap<>();
    private final Map<Integer, HostAndPort> slots = new ConcurrentHashMap<>();
    private volatile Set<HostAndPort> masters = Set.of();

    Nodes(RedisAddress address, int timeoutMillis, byte[] script) {
        this.address = address;
        this.script = script;
        DefaultJedisClientConfig.Builder builder = DefaultJedisClientConfig.builder()
                .connectionTimeoutMillis(timeoutMillis)
                .socketTimeoutMillis(timeoutMillis)
                .user(address.user)
                .password(address.password)
                .database(address.database)
                .clientSetInfoConfig(ClientSetInfoConfig.DISABLED);
        if (address.tls) {
            builder.ssl(true).sslSocketFactory(Tls.sockets(address)).sslParameters(Tls.parameters());
        }
        this.config = builder.build();
    }

    /** The node that serves a slot; of a single server always the same. */
    HostAndPort of(int slot) {
        if (!address.cluster) {
            return address.nodes.get(0);
        }
        if (slots.isEmpty()) {
            learn();
        }
        HostAndPort found = slots.get(slot);
        if (found == null) {
            throw new JedisConnectionException("slot " + slot + " of the cluster is served by no node");
        }
        return found;
    }

    /** A slot has moved. */
    void moved(int slot, HostAndPort to) {
        slots.put(slot, to);
    }

    /** The connection to a node, which knows the script. */
    Node connection(HostAndPort at) {
        Node known = open.get(at);
        if (known != null) {
            return known;
        }
        Node fresh = new Node(at, config);
        open.put(at, fresh);
        load(fresh);
        return fresh;
    }

    /** Sends the script to a node again. */
    void load(Node node) {
        node.sendCommand(Protocol.Command.SCRIPT, Protocol.Keyword.LOAD.getRaw(), script);
        node.getOne();
    }

    /** Asks the nodes, one after another, which slots each serves. */
    private void learn() {
        Set<HostAndPort> known = new LinkedHashSet<>(masters);
        known.addAll(address.nodes);
        JedisConnectionException last = null;
        for (HostAndPort at : known) {
            try {
                Node node = connection(at);
                node.sendCommand(Protocol.Command.CLUSTER, "SLOTS");
                put((List<?>) node.getOne(), at);
                return;
            } catch (JedisConnectionException away) {
                last = away;
            }
        }
        throw new JedisConnectionException("no node of the cluster answers", last);
    }

    private void put(List<?> ranges, HostAndPort asked) {
        Set<HostAndPort> found = new LinkedHashSet<>();
        for (Object range : ranges) {
            List<?> parts = (List<?>) range;
            List<?> master = (List<?>) parts.get(2);
            byte[] name = (byte[]) master.get(0);
            String host = name == null || name.length == 0 ? asked.getHost() : new String(name, StandardCharsets.UTF_8);
            HostAndPort at = new HostAndPort(host, ((Long) master.get(1)).intValue());
            found.add(at);
            for (long slot = (Long) parts.get(0); slot <= (Long) parts.get(1); slot++) {
                slots.put((int) slot, at);
            }
        }
        masters = found;
    }

    /** Drops the connections, whose state is unknown after a failure, and what is known of slots. */
    @Override
    public void close() {
        slots.clear();
        for (HostAndPort at : open.keySet()) {
            Node old = open.remove(at);
            if (old != null) {
                try {
                    old.close();
                } catch (RuntimeException alreadyBroken) {
                    // nothing is left to close
                }
            }
        }
    }
}

package dev.featuredsl.flink.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.apache.flink.table.api.ValidationException;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.HostAndPort;

class RedisAddressTest {
    @Test
    void oneServer() {
        RedisAddress plain = new RedisAddress("redis://h");
        assertEquals(List.of(new HostAndPort("h", 6379)), plain.nodes);
        assertNull(plain.user);
        assertNull(plain.password);
        assertFalse(plain.cluster || plain.tls);
        RedisAddress full = new RedisAddress("rediss://us%40er:p%3Aa+b@h:1/2?ssl_ca_certs=/a%20b.pem");
        assertEquals("us@er p:a+b 2", full.user + " " + full.password + " " + full.database);
        assertTrue(full.tls);
        assertEquals(Map.of("ssl_ca_certs", "/a b.pem"), full.files);
        assertEquals("secret", new RedisAddress("redis://:secret@h").password);
        assertEquals(3, new RedisAddress("redis://h?db=3").database);
    }

    @Test
    void clusters() {
        RedisAddress address = new RedisAddress("redis+cluster://u:p@h1:1,h2,[::1]:3");
        assertEquals(List.of(new HostAndPort("h1", 1), new HostAndPort("h2", 6379), new HostAndPort("::1", 3)), address.nodes);
        assertTrue(address.cluster);
        assertTrue(new RedisAddress("rediss+cluster://h").tls);
    }

    @Test
    void otherTextsAreRefusedWithoutThePassword() {
        for (String url : List.of("h:1", "http://h", "redis://u:secret@h:99999", "redis://h:1/x", "redis://u:secret@h1,h2",
                "redis+cluster://h/2", "redis://h?ssl_ca_certs=/a", "rediss://u:secret@h?ssl_ca_cert=/a", "redis://", "redis:// h")) {
            String message = assertThrows(ValidationException.class, () -> new RedisAddress(url), url).getMessage();
            assertTrue(message.contains("is not a Redis address"), message);
            assertFalse(message.contains("secret"), message);
        }
    }
}

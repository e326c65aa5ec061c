package dev.featuredsl.flink.redis;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.NoSuchAlgorithmException;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/** TLS from PEM files: authorities to believe, and the client's certificate with its PKCS #8 key. */
final class Tls {
    private static final char[] NONE = {};
    private static final List<String> KEYS = List.of("RSA", "EC", "Ed25519");

    private Tls() {}

    /** Sockets for an address. Throws IllegalArgumentException that names the files when they cannot be used. */
    static SSLSocketFactory sockets(RedisAddress address) {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(own(address), believed(address), null);
            return context.getSocketFactory();
        } catch (GeneralSecurityException | IOException | UncheckedIOException | IllegalArgumentException e) {
            throw new IllegalArgumentException("the TLS files " + address.files + " cannot be used: " + e, e);
        }
    }

    /** The server's name is checked. */
    static SSLParameters parameters() {
        SSLParameters parameters = new SSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        return parameters;
    }

    private static TrustManager[] believed(RedisAddress address) throws GeneralSecurityException, IOException {
        String file = address.files.get("ssl_ca_certs");
        if (file == null) {
            return null;
        }
        KeyStore store = empty();
        int number = 0;
        for (Certificate certificate : certificates(file)) {
            store.setCertificateEntry("ca" + number++, certificate);
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return factory.getTrustManagers();
    }

    private static KeyManager[] own(RedisAddress address) throws GeneralSecurityException, IOException {
        String file = address.files.get("ssl_certfile");
        if (file == null) {
            return null;
        }
        KeyStore store = empty();
        PrivateKey key = key(address.files.getOrDefault("ssl_keyfile", file));
        store.setKeyEntry("client", key, NONE, certificates(file).toArray(new Certificate[0]));
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(store, NONE);
        return factory.getKeyManagers();
    }

    private static KeyStore empty() throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, NONE);
        return store;
    }

    private static Collection<? extends Certificate> certificates(String file) throws GeneralSecurityException, IOException {
        try (InputStream in = new ByteArrayInputStream(Files.readAllBytes(Path.of(file)))) {
            return CertificateFactory.getInstance("X.509").generateCertificates(in);
        }
    }

    private static PrivateKey key(String file) throws GeneralSecurityException, IOException {
        String text = Files.readString(Path.of(file));
        String[] parts = text.split("-----(BEGIN|END) PRIVATE KEY-----");
        if (parts.length < 2) {
            throw new GeneralSecurityException(file + " holds no unencrypted PKCS #8 key (BEGIN PRIVATE KEY)");
        }
        byte[] bytes = Base64.getMimeDecoder().decode(parts[1].trim());
        for (String algorithm : KEYS) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(bytes));
            } catch (InvalidKeySpecException | NoSuchAlgorithmException notThisOne) {
                // the next kind of key
            }
        }
        throw new GeneralSecurityException(file + " holds a key that is none of " + KEYS);
    }
}

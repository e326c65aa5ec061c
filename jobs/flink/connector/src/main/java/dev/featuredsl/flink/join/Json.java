package dev.featuredsl.flink.join;

import java.io.IOException;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonFactory;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonGenerator;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonParser;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonToken;

/** The little JSON that the join reads and writes. */
final class Json {
    private static final JsonFactory FACTORY = new JsonFactory();

    private Json() {}

    /** Clicks as {@code [[slot_id, ts, value or null], ...]}. */
    static String clicks(List<Attached> clicks) throws IOException {
        StringWriter text = new StringWriter();
        try (JsonGenerator out = FACTORY.createGenerator(text)) {
            out.writeStartArray();
            for (Attached click : clicks) {
                out.writeStartArray();
                out.writeString(click.slotId);
                out.writeNumber(click.ts);
                if (click.value == null) {
                    out.writeNull();
                } else {
                    out.writeNumber(click.value);
                }
                out.writeEndArray();
            }
            out.writeEndArray();
        }
        return text.toString();
    }

    /** The ids of {@code candidates} of an impression that has been validated. */
    static List<String> candidates(String impression) throws IOException {
        List<String> ids = new ArrayList<>();
        try (JsonParser parser = FACTORY.createParser(impression)) {
            parser.nextToken();
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                String name = parser.currentName();
                parser.nextToken();
                if ("candidates".equals(name)) {
                    while (parser.nextToken() == JsonToken.START_OBJECT) {
                        ids.add(actionId(parser));
                    }
                } else {
                    parser.skipChildren();
                }
            }
        }
        return ids;
    }

    /** An object of already encoded JSON texts. */
    static String object(Map<String, String> members) throws IOException {
        StringWriter text = new StringWriter();
        try (JsonGenerator out = FACTORY.createGenerator(text)) {
            out.writeStartObject();
            for (Map.Entry<String, String> member : members.entrySet()) {
                out.writeFieldName(member.getKey());
                out.writeRawValue(member.getValue());
            }
            out.writeEndObject();
        }
        return text.toString();
    }

    private static String actionId(JsonParser parser) throws IOException {
        String id = null;
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String name = parser.currentName();
            parser.nextToken();
            if ("action_id".equals(name)) {
                id = parser.getText();
            } else {
                parser.skipChildren();
            }
        }
        return id;
    }
}

package dev.featuredsl.flink.json;

/** A record that is not accepted: a stable reason code and a sentence for people. Carries no stack trace. */
final class Rejection extends Exception {
    private static final long serialVersionUID = 1L;
    private static final int MAX_DETAIL = 500;

    static final String NULL_VALUE = "null_value";
    static final String TOO_LARGE = "too_large";
    static final String BAD_UTF8 = "bad_utf8";
    static final String BAD_JSON = "bad_json";
    static final String TOO_DEEP = "too_deep";
    static final String DUPLICATE_KEY = "duplicate_key";
    static final String NOT_OBJECT = "not_object";
    static final String MISSING_FIELD = "missing_field";
    static final String BAD_TYPE = "bad_type";
    static final String OUT_OF_RANGE = "out_of_range";
    static final String NOT_FINITE = "not_finite";
    static final String BAD_TIME = "bad_time";

    final String reason;

    Rejection(String reason, String detail) {
        super(detail.length() > MAX_DETAIL ? detail.substring(0, MAX_DETAIL) : detail, null, false, false);
        this.reason = reason;
    }
}

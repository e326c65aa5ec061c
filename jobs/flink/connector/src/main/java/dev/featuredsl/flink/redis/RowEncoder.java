package dev.featuredsl.flink.redis;

import java.io.Serializable;
import org.apache.flink.table.data.RowData;

/** Rows of the table to writes, and the script that takes them. Copies what it needs: the caller may reuse a row. */
interface RowEncoder extends Serializable {
    /** The write of a row, or null when there is nothing to write. */
    Write encode(RowData row);

    /** How many values were left out so far because they are too large. */
    default long leftOut() {
        return 0;
    }

    /** Name of the script under {@code /lua}. */
    String script();

    /** Arguments of the script before those of the rows. */
    byte[][] commonArguments();
}

// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A page of records.
 *
 * @param <T> the type of the records
 * @param records the records of this page
 * @param total the number of records on all pages that match the filters
 * @param totalIsExact false if counting would have taken too long and total is a lower bound, else
 *     null; with exactTotal=true the total is always exact
 */
public record Page<T>(List<T> records, long total, @Nullable Boolean totalIsExact) {

    /** Creates a page. If records is null, the page is empty. */
    public Page {
        records = records == null ? List.of() : records;
    }
}

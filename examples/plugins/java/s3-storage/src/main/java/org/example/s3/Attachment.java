// SPDX-License-Identifier: Apache-2.0

package org.example.s3;

import java.time.Instant;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.SequencedSet;

/** The metadata of an attachment, in the storage of the plugin. */
record Attachment(long uploader, String name, String mediaType, Instant created, List<Long> users, List<Long> groups) {

    Attachment sharedWithUser(long user, boolean on) {
        return new Attachment(uploader, name, mediaType, created, changed(users, user, on), groups);
    }

    Attachment sharedWithGroup(long group, boolean on) {
        return new Attachment(uploader, name, mediaType, created, users, changed(groups, group, on));
    }

    private static List<Long> changed(List<Long> ids, long id, boolean on) {
        SequencedSet<Long> set = new LinkedHashSet<>(ids);
        if (on) {
            set.add(id);
        } else {
            set.remove(id);
        }
        return List.copyOf(set);
    }
}

// SPDX-License-Identifier: Apache-2.0

package org.example.s3;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Set;

/** Stores pictures and attachments in a bucket. */
public class S3StoragePlugin extends AppPlugin {
    @Override
    public Set<Class<? extends AppExtension>> getExtensions() {
        return Set.of(S3Storage.class);
    }
}

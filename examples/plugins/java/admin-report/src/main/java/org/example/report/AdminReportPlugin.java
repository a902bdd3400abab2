// SPDX-License-Identifier: Apache-2.0

package org.example.report;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Set;

/** Reports new users. */
public class AdminReportPlugin extends AppPlugin {
    @Override
    public Set<Class<? extends AppExtension>> getExtensions() {
        return Set.of(AdminReport.class);
    }
}

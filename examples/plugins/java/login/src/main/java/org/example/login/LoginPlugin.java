// SPDX-License-Identifier: Apache-2.0

package org.example.login;

import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import java.util.Set;

/** Asks an HTTP service who may log in. */
public class LoginPlugin extends AppPlugin {
    @Override
    public Set<Class<? extends AppExtension>> getExtensions() {
        return Set.of(Login.class);
    }
}

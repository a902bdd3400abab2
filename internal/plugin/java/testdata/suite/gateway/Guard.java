// SPDX-License-Identifier: Apache-2.0

package gateway;

import im.app.gateway.infra.plugin.extension.UserAuthenticator;
import im.app.plugin.AppExtension;
import im.app.plugin.model.UserLoginInfo;

public class Guard extends AppExtension implements UserAuthenticator {
    @Override
    public Boolean authenticate(UserLoginInfo info) {
        return true;
    }
}

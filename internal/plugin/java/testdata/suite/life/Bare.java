// SPDX-License-Identifier: Apache-2.0

package life;

import im.app.gateway.infra.plugin.extension.UserAuthenticator;
import im.app.plugin.AppExtension;
import im.app.service.infra.plugin.extension.ClientRequestHandler;

public class Bare extends AppExtension implements ClientRequestHandler, UserAuthenticator {}

// SPDX-License-Identifier: Apache-2.0

package campaign

// scriptAuthenticator is a plugin that accepts users with the right password.
const scriptAuthenticator = `
class Logins extends AppExtension { getExtensionPoints() { return ['UserAuthenticator']; } authenticate({ password }) { return password === 'open'; } }
export default class extends AppPlugin { getDescriptor() { return { id: 'logins', version: '1' }; } getExtensions() { return [Logins]; } }`

// archiveAuthenticator is the same in Java.
const archiveAuthenticator = `
package logins;
import im.app.gateway.infra.plugin.extension.UserAuthenticator;
import im.app.plugin.*;
import im.app.plugin.model.UserLoginInfo;
import java.util.*;

public class Logins extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() { return List.of(Lock.class); }

    public static class Lock extends AppExtension implements UserAuthenticator {
        @Override
        public Boolean authenticate(UserLoginInfo info) { return "open".equals(info.password()); }
    }
}`

// scriptFilter is a plugin that refuses messages with a word.
const scriptFilter = `
class Words extends AppExtension {
  getExtensionPoints() { return ['ClientRequestHandler']; }
  transform({ request }) { if (request.createMessageRequest?.text === 'forbidden') throw new AppError('MESSAGE_IS_ILLEGAL', 'no'); }
}
export default class extends AppPlugin { getDescriptor() { return { id: 'words', version: '1' }; } getExtensions() { return [Words]; } }`

// archiveFilter is the same in Java.
const archiveFilter = `
package words;
import im.app.plugin.*;
import im.app.plugin.model.ClientRequest;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.util.*;

public class Words extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() { return List.of(Filter.class); }

    public static class Filter extends AppExtension implements ClientRequestHandler {
        @Override
        public ClientRequest transform(ClientRequest request) {
            if (request.request().hasCreateMessageRequest() && request.request().getCreateMessageRequest().getText().equals("forbidden")) {
                throw new AppException(5010, "no");
            }
            return null;
        }
    }
}`

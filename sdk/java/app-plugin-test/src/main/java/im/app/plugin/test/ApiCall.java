// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.test;

import java.util.Map;

/**
 * An operation of the admin interface that a plugin called.
 *
 * @param operation the id of the operation
 * @param input the parameters by name and the body as {@code body}
 */
public record ApiCall(String operation, Map<String, Object> input) {}

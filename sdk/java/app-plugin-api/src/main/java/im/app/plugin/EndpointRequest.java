// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import org.jspecify.annotations.Nullable;

/**
 * A request that was checked against the schemas of its endpoint. Missing properties have their defaults.
 *
 * @param <Q> the type of the parameters
 * @param <B> the type of the body
 * @param query the parameters; null if the endpoint declares none
 * @param body the body; null if the endpoint declares none
 * @param adminId who asks
 * @param ip the address of the caller
 * @param requestId what the log and the answer name the request
 */
public record EndpointRequest<Q extends @Nullable Object, B extends @Nullable Object>(
        Q query, B body, @Nullable Long adminId, String ip, String requestId) {}

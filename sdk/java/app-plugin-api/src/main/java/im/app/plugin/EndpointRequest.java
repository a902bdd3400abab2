// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import org.jspecify.annotations.Nullable;

/**
 * A request that matches the schemas of its endpoint. Missing properties have their defaults.
 *
 * @param <Q> the type of the parameters
 * @param <B> the type of the body
 * @param query the parameters; null if the endpoint declares none
 * @param body the body; null if the endpoint declares none
 * @param adminId the id of the calling administrator
 * @param ip the address of the caller
 * @param requestId the id of the request in the log and the response
 */
public record EndpointRequest<Q extends @Nullable Object, B extends @Nullable Object>(
        Q query, B body, @Nullable Long adminId, String ip, String requestId) {}

// SPDX-License-Identifier: Apache-2.0
// @ts-check
//
// Greeter bot: a user that replies to every message, and remembers the senders.
//
//   greeter-bot.user-id=4711    the id of the bot; the user is created if missing
//   greeter-bot.name=Greeter    its name

/** @implements {RequestHandlerResultHandler} */
class GreeterBot extends AppExtension {
  getExtensionPoints() { return ['RequestHandlerResultHandler']; }

  async start() {
    /** @type {{userId?: number, name?: string}} */
    const { userId = 4711, name = 'Greeter' } = app.config('greeter-bot');
    this.id = String(userId); // Ids are decimal strings.
    const known = await app.api.users.query({ ids: [this.id] });
    // Nobody can log in as the bot, because its password is random and not stored.
    if (!known?.length) await app.api.users.create({ body: { id: this.id, name, password: crypto.randomUUID().slice(-12) } });
  }

  /**
   * The message is stored before this is called.
   *
   * @param {RequestHandlerResult} result
   * @param {string} requesterId
   */
  async afterNotify(result, requesterId) {
    const message = result.notifications?.[0]?.notification?.createMessageRequest;
    if (!this.id || message?.recipientId !== this.id) return undefined;
    // First a typing notification for users who are online; it is not stored.
    await app.notify({ recipients: [requesterId], notification: { updateTypingStatusRequest: { toId: requesterId } } });
    const visits = (Number(await app.storage.get(`visits/${requesterId}`)) || 0) + 1;
    await app.storage.set(`visits/${requesterId}`, visits);
    const [user] = (await app.api.users.query({ ids: [requesterId] })) ?? [];
    const name = user?.name || `user ${requesterId}`;
    const text = visits === 1 ? `Welcome, ${name}!` : `Good to see you again, ${name}. You have written ${visits} times.`;
    // Then the reply, an ordinary message.
    await app.api.messages.create({ body: { senderId: this.id, targetId: requesterId, isGroupMessage: false, isSystemMessage: false, text } });
    return undefined;
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'greeter-bot', version: '1.0', description: 'Answers who writes to it.', 'compatible-servers': ['SERVICE'] }; }

  getExtensions() { return [GreeterBot]; }
}

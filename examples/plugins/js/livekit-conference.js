// SPDX-License-Identifier: Apache-2.0
// @ts-check
//
// LiveKit conference: hosts meetings in rooms of a LiveKit server. The name of a room is the id of
// its meeting. Clients get a token for the LiveKit server; audio and video never pass through this
// server.
//
//   livekit-conference.url=https://livekit.example.org
//   livekit-conference.api-key=...
//   livekit-conference.secret-key=...
//   livekit-conference.token-ttl-seconds=600
//   livekit-conference.poll-millis=10000
//
// The open rooms are in the storage of the plugin, so that every server of a cluster, also after a
// restart, detects the end of a room.

/** @param {string} text */
const base64url = (text) => btoa(text).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '');

/** A client of one LiveKit server. */
class LiveKit {
  /**
   * @param {{url?: string, apiKey?: string, secretKey?: string, tokenTtlSeconds?: number}} config
   */
  constructor({ url, apiKey, secretKey, tokenTtlSeconds = 600 }) {
    if (!url || !apiKey || !secretKey) throw new Error('livekit-conference needs url, api-key and secret-key');
    this.url = url.replace(/\/$/, '');
    this.apiKey = String(apiKey);
    this.secretKey = String(secretKey);
    this.lifetime = tokenTtlSeconds;
  }

  /**
   * Returns a token with a grant.
   *
   * @param {{[name: string]: string | boolean}} video
   * @param {string} [identity]
   */
  token(video, identity) {
    const now = Math.floor(Date.now() / 1000);
    const head = base64url(JSON.stringify({ alg: 'HS256', typ: 'JWT' }));
    const body = base64url(JSON.stringify({ iss: this.apiKey, sub: identity, nbf: now - 10, exp: now + this.lifetime, jti: crypto.randomUUID(), video }));
    const signature = base64url(atob(crypto.hmac('SHA-256', this.secretKey, `${head}.${body}`, 'base64')));
    return `${head}.${body}.${signature}`;
  }

  /**
   * Calls a function of the room service.
   *
   * @param {string} name
   * @param {{[name: string]: string | boolean}} grant
   * @param {JsonValue} input
   */
  async call(name, grant, input) {
    const response = await fetch(`${this.url}/twirp/livekit.RoomService/${name}`, {
      method: 'POST', timeout: 3000, body: JSON.stringify(input),
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${this.token(grant)}` },
    });
    if (response.status === 404) return undefined;
    if (!response.ok) throw new Error(`LiveKit answered ${response.status} to ${name}: ${response.data.slice(0, 200)}`);
    return response.json();
  }

  /** @param {{[name: string]: JsonValue}} room */
  create(room) { return this.call('CreateRoom', { roomCreate: true }, room); }

  /** @param {string} room */
  delete(room) { return this.call('DeleteRoom', { roomCreate: true }, { room }); }

  /** @returns {Promise<{name: string, metadata?: string}[]>} */
  async list() {
    const answer = /** @type {{rooms?: {name: string, metadata?: string}[]} | undefined} */ (await this.call('ListRooms', { roomList: true }, {}));
    return answer?.rooms ?? [];
  }

  /**
   * @param {string} room
   * @param {string} identity
   */
  admit(room, identity) { return { accessToken: this.token({ room, roomJoin: true }, identity) }; }
}

/** @implements {ConferenceServiceProvider} */
class Conference extends AppExtension {
  /** @type {LiveKit | undefined} */
  #livekit;
  /** @type {((event: MeetingEndedEvent) => Promise<void>) | undefined} */
  #ended;
  #timer = 0;

  getExtensionPoints() { return ['ConferenceServiceProvider']; }

  start() {
    const config = app.config('livekit-conference');
    this.#livekit = new LiveKit(config);
    this.watch(Number(config.pollMillis ?? 10000));
  }

  stop() { clearTimeout(this.#timer); }

  get livekit() {
    if (!this.#livekit) throw new AppError('SERVER_UNAVAILABLE', 'the conference is not started');
    return this.#livekit;
  }

  /** @param {(event: MeetingEndedEvent) => Promise<void>} listener */
  addMeetingEndedEventListener(listener) { this.#ended = listener; }

  /** @param {string} requesterId @param {Meeting} meeting @param {CreateMeetingOptions} options */
  async createMeeting(requesterId, meeting, options) {
    await this.open(meeting.id, {
      metadata: JSON.stringify({ creator: requesterId }), max_participants: options.maxParticipants ?? 0,
      empty_timeout: Math.ceil(Number(options.idleTimeoutMillis ?? 300000) / 1000),
    });
    return this.livekit.admit(meeting.id, requesterId);
  }

  /** @param {string} _requesterId @param {string} meetingId */
  async cancelMeeting(_requesterId, meetingId) {
    await this.livekit.delete(meetingId);
    await app.storage.delete(`room/${meetingId}`);
  }

  /** @param {string} userId */
  async countActiveMeetingsByUserId(userId) {
    const creators = (await this.livekit.list()).map((room) => JSON.parse(room.metadata || '{}').creator);
    return creators.filter((id) => id === userId).length;
  }

  /** @param {string} requesterId @param {string} meetingId */
  async acceptMeetingInvitation(requesterId, meetingId) {
    // A meeting that was created for later has no room yet.
    if (!await app.storage.get(`room/${meetingId}`)) await this.open(meetingId, {});
    return this.livekit.admit(meetingId, requesterId);
  }

  /**
   * Opens a room unless it is open, and stores its name afterwards: a stored room that does not
   * exist has ended.
   *
   * @param {string} name
   * @param {{[name: string]: JsonValue}} options
   */
  async open(name, options) {
    await this.livekit.create({ name, ...options });
    await app.storage.set(`room/${name}`, true);
  }

  /**
   * Polls for rooms that have ended.
   *
   * @param {number} millis
   */
  watch(millis) {
    this.#timer = setTimeout(async () => {
      try {
        await this.look();
      } catch (e) {
        app.log.warn('could not look for meetings that have ended:', e);
      }
      this.watch(millis);
    }, millis);
  }

  async look() {
    const known = (await app.storage.keys('room/')).map((key) => key.slice('room/'.length));
    if (known.length === 0) return;
    const open = new Set((await this.livekit.list()).map((room) => room.name));
    for (const meetingId of known.filter((id) => !open.has(id))) {
      await this.#ended?.({ meetingId, timestamp: new Date() });
      await app.storage.delete(`room/${meetingId}`);
    }
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'livekit-conference', version: '1.0', description: 'Holds meetings in the rooms of a LiveKit server.', 'compatible-servers': ['SERVICE'] }; }

  getExtensions() { return [Conference]; }
}

// SPDX-License-Identifier: Apache-2.0

package org.example.wordfilter;

import im.app.plugin.AppException;
import im.app.plugin.AppExtension;
import im.app.plugin.PropertiesPrefix;
import im.app.plugin.StatusCode;
import im.app.plugin.model.ClientRequest;
import im.app.proto.AppRequest;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Refuses messages that contain a forbidden word, or masks the word.
 *
 * <pre>
 * word-filter.words[0]=darn   the forbidden words
 * word-filter.mode=reject     reject (the default) or mask
 * </pre>
 */
public class WordFilter extends AppExtension implements ClientRequestHandler {

    /** What to do with a message. */
    public enum Mode {
        REJECT,
        MASK
    }

    /** The properties. */
    @PropertiesPrefix("word-filter")
    public static class Properties {
        public List<String> words = List.of();
        public Mode mode = Mode.REJECT;
    }

    private static final Pattern WORD = Pattern.compile("[\\p{L}\\p{M}\\p{N}_]+");

    private volatile Mode mode;
    // Each word of a text is looked up: the cost depends on the length of the text and not on the
    // number of words.
    private volatile Set<String> words = Set.of();

    @Override
    public void start() {
        Properties properties = loadProperties(Properties.class);
        mode = properties.mode;
        words = properties.words.stream().map(WordFilter::fold).collect(Collectors.toUnmodifiableSet());
    }

    @Override
    public ClientRequest transform(ClientRequest clientRequest) {
        // New messages and edited ones.
        AppRequest request = clientRequest.request();
        if (request.hasCreateMessageRequest()) {
            String text = filter(request.getCreateMessageRequest().getText());
            return text == null ? null : clientRequest.editRequest(r -> r.getCreateMessageRequestBuilder().setText(text));
        }
        if (request.hasUpdateMessageRequest()) {
            String text = filter(request.getUpdateMessageRequest().getText());
            return text == null ? null : clientRequest.editRequest(r -> r.getUpdateMessageRequestBuilder().setText(text));
        }
        return null; // null leaves the request unchanged.
    }

    private static String fold(String word) {
        return word.toLowerCase(Locale.ROOT);
    }

    /** Returns the text with forbidden words masked, or null if it has none. */
    private String filter(String text) {
        if (WORD.matcher(text).results().map(MatchResult::group).map(WordFilter::fold).noneMatch(words::contains)) {
            return null;
        }
        if (mode == Mode.REJECT) {
            throw new AppException(StatusCode.MESSAGE_IS_ILLEGAL, "the message holds a word that is not allowed here");
        }
        UnaryOperator<String> mask = word -> words.contains(fold(word)) ? "*".repeat(word.codePointCount(0, word.length())) : word;
        return WORD.matcher(text).replaceAll(m -> mask.apply(m.group()));
    }
}

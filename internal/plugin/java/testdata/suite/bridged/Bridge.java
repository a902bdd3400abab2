// SPDX-License-Identifier: Apache-2.0

package bridged;

import im.app.plugin.AppExtension;
import im.app.plugin.model.DomainEvent;
import im.app.service.infra.plugin.extension.DomainEventConsumer;
import im.app.service.infra.plugin.extension.DomainEventHandler;
import java.util.List;
import java.util.Objects;

public class Bridge extends AppExtension implements DomainEventHandler, DomainEventConsumer {
    private int calls;

    @Override
    public void handleDomainEvents(List<DomainEvent> events) {
        storage().setText("handled", events.get(0).type());
    }

    @Override
    public void consumeDomainEvents(List<DomainEvent> events) {
        if (++calls <= 2) {
            throw new IllegalStateException("told to fail");
        }
        StringBuilder text = new StringBuilder(Objects.requireNonNullElse(storage().getText("consumed"), ""));
        for (DomainEvent e : events) {
            text.append(e.type()).append(' ').append(e.userId()).append(',');
        }
        storage().setText("consumed", text.toString());
    }
}

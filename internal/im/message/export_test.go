// SPDX-License-Identifier: Apache-2.0

package message

import "context"

// SendTogether stores messages as one batch.
func (d *Directory) SendTogether(ctx context.Context, creations ...Creation) error {
	settings := d.opts.Settings()
	var batch []*posting
	for _, c := range creations {
		composed, err := d.compose(c, settings)
		if err == nil {
			composed, err = d.identify(ctx, composed, c, settings)
		}
		if err != nil {
			return err
		}
		batch = append(batch, &posting{composed: composed, settings: settings, key: c.Key})
	}
	if err := d.sendTogether(batch); err != nil {
		return err
	}
	for _, p := range batch {
		if p.refusal != nil {
			return p.refusal
		}
	}
	return nil
}

// Storing reports whether messages are being stored together.
func (d *Directory) Storing() bool {
	d.batch.mu.Lock()
	defer d.batch.mu.Unlock()
	return d.batch.running > 0
}

// Enter waits until earlier messages have their ids.
func (t *Turn) Enter(ctx context.Context) error { return t.enter(ctx) }

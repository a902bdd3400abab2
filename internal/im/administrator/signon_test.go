// SPDX-License-Identifier: Apache-2.0

package administrator

import (
	"testing"
	"time"
)

func TestTicketsAreValidOnce(t *testing.T) {
	var list tickets
	now := time.Now()
	id := &Identity{ID: 7}
	first := list.issue(id, now)
	if got, err := list.take(first, now); got != id || err != nil {
		t.Errorf("the first use: %v, %v", got, err)
	}
	if _, err := list.take(first, now); err == nil {
		t.Error("a ticket was used twice")
	}
	late := list.issue(id, now)
	if _, err := list.take(late, now.Add(ticketLifetime+time.Second)); err == nil {
		t.Error("an expired ticket was used")
	}
	list.issue(id, now)
	list.issue(id, now.Add(time.Hour))
	if len(list.open) != 1 {
		t.Errorf("%d tickets are kept, want the one that has not expired", len(list.open))
	}
	if _, err := list.take("app_ticket_made_up", now); err == nil {
		t.Error("a made-up ticket was used")
	}
}

func TestExternalLoginNames(t *testing.T) {
	one := External{Issuer: "https://one.example.org", Subject: "ann"}.loginName()
	other := External{Issuer: "https://other.example.org", Subject: "ann"}.loginName()
	if one == other {
		t.Errorf("two issuers share the account %s", one)
	}
	if err := checkLoginName(one); err == nil {
		t.Errorf("an administrator can be created with the name %s", one)
	}
}

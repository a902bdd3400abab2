// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// bridgeScript is a plugin that receives events at least once. It fails while the configuration
// says that the external system is down.
const bridgeScript = `
class Bridge extends AppExtension {
  getExtensionPoints() { return ['DomainEventConsumer']; }
  consumeDomainEvents(events) {
    if (!app.config('bridge').open) throw new Error('the other system is down');
    for (const e of events) app.log.info('got ' + e.type + ' of ' + e.userId + ';');
  }
}
export default class extends AppPlugin {
  getDescriptor() { return {id: 'bridge', version: '1', 'compatible-servers': ['SERVICE']}; }
  getExtensions() { return [Bridge]; }
}`

// delivery returns the state of event delivery to the only extension of a plugin, from GET
// /plugins.
func (p *process) delivery(id string) (d struct {
	NodeID    string
	Failures  int
	Delivered int
	LastError string
},
) {
	_, body := p.call("GET", "/plugins?ids="+id, "")
	var answer struct {
		Data []struct {
			Extensions []struct{ Delivery json.RawMessage }
		}
	}
	if json.Unmarshal([]byte(body), &answer) != nil || len(answer.Data) == 0 || len(answer.Data[0].Extensions) == 0 {
		return d
	}
	_ = json.Unmarshal(answer.Data[0].Extensions[0].Delivery, &d) // Missing fields stay empty.
	return d
}

// TestEventsOutliveTheProcess kills a process between the commit of changes and the delivery of
// their events to a plugin. The plugin receives the events after the next start, in order.
func TestEventsOutliveTheProcess(t *testing.T) {
	beside(t)
	file := "app.store.url=sqlite:" + filepath.Join(t.TempDir(), "app.db")
	p := start(t, "service", "solo", file, "bridge.open=false")
	status, body := p.uploadScript("", bridgeScript)
	must(t, "upload", status, body)
	status, body = p.send(http.MethodPut, "/plugins?ids=bridge", "application/json", []byte(`{"status":"STARTED"}`))
	must(t, "start", status, body)
	eventually(t, "the node brings events to the plugin", func() bool { return p.delivery("bridge").NodeID == "solo" })
	status, body = p.call("POST", "/users", `{"id":1,"name":"first","password":"p"}`)
	must(t, "create", status, body)
	eventually(t, "a failure", func() bool {
		d := p.delivery("bridge")
		return d.Failures > 0 && strings.Contains(d.LastError, "the other system is down")
	})
	status, body = p.call("POST", "/users", `{"id":2,"name":"last","password":"p"}`)
	must(t, "create", status, body)
	p.signal(syscall.SIGKILL)
	<-p.done

	p = start(t, "service", "solo", file, "bridge.open=true")
	eventually(t, "the events come after the restart", func() bool { return p.delivery("bridge").Delivered >= 2 })
	text := p.log.String()
	if first, last := strings.Index(text, "got USER_CREATED of 1;"), strings.Index(text, "got USER_CREATED of 2;"); first < 0 || first > last {
		t.Errorf("the first event is at %d of the log, the last one at %d", first, last)
	}
}

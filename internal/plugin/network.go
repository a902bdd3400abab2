// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
)

// remote is a downloaded plugin.
type remote struct {
	config.NetworkPlugin
	language Language
	// shown is its URL without credentials, for messages.
	shown string
	// cache is the name of its copy in the folder.
	cache string
}

// remotes validates the configured downloads. An unknown language is an error.
func remotes(list []config.NetworkPlugin) ([]remote, error) {
	var all []remote
	for i, c := range list {
		u, err := url.Parse(c.URL.Reveal())
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("app.plugin.network.plugins[%d].url = %q: must be an http or https URL", i, c.URL.String())
		}
		r := remote{NetworkPlugin: c, shown: c.URL.String()}
		name, known := path.Base(u.Path), false
		r.language, known = languageOf(name)
		switch {
		case c.Type == config.NetworkPluginJava:
			r.language = Java
		case c.Type == config.NetworkPluginJavaScript:
			r.language = JavaScript
		case !known:
			return nil, fmt.Errorf("app.plugin.network.plugins[%d].url = %q: the plugin type cannot be recognised: "+
				"the path must end in .js or .jar, or type must say JAVA or JAVA_SCRIPT", i, r.shown)
		}
		if byName, ok := languageOf(name); !ok || byName != r.language {
			for suffix, l := range suffixes {
				if l == r.language {
					name += suffix
				}
			}
		}
		r.cache = networkPrefix + name
		all = append(all, r)
	}
	return all, nil
}

// LoadNetwork loads the configured downloads concurrently: from the copy in the folder if allowed,
// else from the network. Leave must have been called for them before the folder is loaded, which
// then skips the copies. If start is true, each plugin is started as soon as it is loaded. The
// error joins those of single plugins, and includes ErrConfiguration if the configuration is
// invalid.
func (f *Folder) LoadNetwork(ctx context.Context, c config.PluginNetwork, start bool) error {
	list, err := remotes(c.Plugins)
	if err != nil {
		return errors.Join(ErrConfiguration, err)
	}
	client := clientOf(c.Proxy)
	defer client.CloseIdleConnections()
	errs := make([]error, len(list))
	b := f.newBatch(networkRank, len(list))
	var wg sync.WaitGroup
	for i, r := range list {
		wg.Go(func() {
			src, err := f.obtain(ctx, client, r)
			if err != nil {
				b.done(i)
				errs[i] = f.settled(src, apierr.New(apierr.IllegalArgument, "%v", err))
				return
			}
			errs[i] = f.load(ctx, r.language, b.place(i, src), start, f.settled, func() { b.done(i) })
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// settled records the reason if a download was not accepted, and removes an older one if it was.
func (f *Folder) settled(src Source, err error) error {
	if err != nil {
		f.manager.Rejections.add(src, err)
	} else {
		f.manager.Rejections.forget(src)
	}
	return err
}

// LeaveNetwork makes the folder skip the copies of downloads. The error is ErrConfiguration if the
// configuration is invalid.
func (f *Folder) LeaveNetwork(c config.PluginNetwork) error {
	list, err := remotes(c.Plugins)
	if err != nil {
		return errors.Join(ErrConfiguration, err)
	}
	for _, r := range list {
		f.Leave(r.cache)
	}
	return nil
}

// ErrConfiguration means that the configuration of plugins is invalid.
var ErrConfiguration = errors.New("the configuration of plugins makes no sense")

// obtain returns a plugin from its copy or from the network.
func (f *Folder) obtain(ctx context.Context, client *http.Client, r remote) (Source, error) {
	file := filepath.Join(f.dir, r.cache)
	src := Source{Name: r.shown}
	if r.UseLocalCache {
		data, err := os.ReadFile(file)
		if err == nil {
			return Source{Name: r.cache, Path: file, Data: data}, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return src, fmt.Errorf("read the copy of %s: %w", r.shown, err)
		}
	}
	data, err := download(ctx, client, r)
	if err != nil {
		return src, err
	}
	src.Data = data
	if !r.UseLocalCache {
		return src, nil
	}
	if err := writeFile(file, data); err != nil {
		return src, fmt.Errorf("keep a copy of %s: %w", r.shown, err)
	}
	return Source{Name: r.cache, Path: file, Data: data}, nil
}

// writeFile writes a file atomically.
func writeFile(name string, data []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(name), ".download-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(data)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}

// clientOf returns an HTTP client that uses the proxy, if there is one.
func clientOf(p config.PluginProxy) *http.Client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 30 * time.Second}
	if p.Enabled {
		proxy := &url.URL{Scheme: "http", Host: net.JoinHostPort(p.Host, strconv.Itoa(int(p.Port)))}
		if p.Username != "" {
			proxy.User = url.UserPassword(p.Username, p.Password.Reveal())
		}
		transport.Proxy = http.ProxyURL(proxy)
		transport.DialContext = (&net.Dialer{Timeout: time.Duration(p.ConnectTimeoutMillis) * time.Millisecond}).DialContext
	}
	return &http.Client{Transport: transport}
}

// withoutURL returns the cause of a failed request. The client's error contains the URL, which may
// have credentials.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

func download(ctx context.Context, client *http.Client, r remote) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.Download.TimeoutMillis)*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Download.HTTPMethod, r.URL.Reveal(), nil)
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", r.shown, withoutURL(err))
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", r.shown, withoutURL(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, fmt.Errorf("download %s: the answer is %s", r.shown, resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", r.shown, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("download %s: it has more than %d bytes", r.shown, maxFile)
	}
	return data, nil
}

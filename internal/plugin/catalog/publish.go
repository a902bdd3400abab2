// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/store"
)

// A Publication is a set of plugins that an administrator adds to the cluster.
type Publication struct {
	Uploads []plugin.Upload
	// Replace allows plugins to be new versions of existing ones.
	Replace bool
	// DryRun only loads and checks.
	DryRun bool
	// Inactive does not change the active version.
	Inactive bool
	Change
}

// Published is the result for one plugin.
type Published struct {
	// Plugin cannot be called. It is nil if the upload is no plugin.
	*plugin.Plugin
	// Number is that of the version.
	Number int64
	// Replaced is true if the cluster had another version.
	Replaced bool
}

// candidate is a plugin to be published.
type candidate struct {
	Published
	upload plugin.Upload
	name   string
}

// Publish adds plugins to the cluster, all or none. They are in the state Loaded, or in that of the
// version that they replace. If a plugin's file is the active version, nothing changes; if it is an
// older version, that is activated again. Publish returns when this process has applied it, or
// cannot. Errors have the positions of the uploads; nil if all were published, and never with
// DryRun.
func (c *Catalog) Publish(ctx context.Context, p Publication) ([]Published, []error) {
	list, errs := make([]candidate, len(p.Uploads)), make([]error, len(p.Uploads))
	failed := false
	for i, u := range p.Uploads {
		list[i], errs[i] = c.inspect(ctx, u, p.DryRun)
		for _, other := range list[:i] {
			if errs[i] == nil && other.Plugin != nil && other.ID == list[i].ID {
				errs[i] = apierr.New(apierr.DuplicateResource, "the plugin %q is uploaded twice", other.ID)
			}
		}
		failed = failed || errs[i] != nil
	}
	if p.DryRun {
		c.checkAll(ctx, p, list, errs)
		return published(list), errs
	}
	if !failed {
		// Report missing permissions before much is stored.
		failed = c.checkAll(ctx, p, list, errs)
	}
	if failed {
		return nil, errs
	}
	for i := range list {
		if errs[i] = c.save(ctx, list[i].Digest, list[i].upload.Data); errs[i] != nil {
			return nil, errs
		}
	}
	at := 0
	err := c.write(ctx, func(ctx context.Context, tx store.Tx) error {
		for i := range list {
			at = i
			if err := c.add(ctx, tx, p, &list[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		errs[at] = err
		return nil, errs
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	c.follow(ctx, ids...)
	return published(list), nil
}

func published(list []candidate) []Published {
	all := make([]Published, len(list))
	for i := range list {
		all[i] = list[i].Published
	}
	return all
}

// inspect loads an upload to read its description.
func (c *Catalog) inspect(ctx context.Context, u plugin.Upload, dry bool) (candidate, error) {
	src, err := u.Source()
	if err == nil && len(u.Data) > plugin.MaxFile {
		err = apierr.New(apierr.IllegalArgument, "the plugin has %d bytes, at most %d are allowed", len(u.Data), plugin.MaxFile)
	}
	if err != nil {
		return candidate{}, err
	}
	src.Shared = &plugin.Shared{}
	load := c.opts.Manager.Inspect
	if dry {
		load = func(ctx context.Context, l plugin.Language, src plugin.Source) (*plugin.Plugin, error) {
			return c.opts.Manager.Check(ctx, l, src, true)
		}
	}
	p, err := load(ctx, u.Language, src)
	return candidate{Published: Published{Plugin: p}, upload: u, name: src.Name}, err
}

// checkAll looks for reasons to refuse valid plugins, and reports whether there are any.
func (c *Catalog) checkAll(ctx context.Context, p Publication, list []candidate, errs []error) (failed bool) {
	err := c.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		for i := range list {
			if errs[i] != nil {
				continue
			}
			x, err := c.plan(ctx, r, p, &list[i])
			if _, refused := errors.AsType[*apierr.Error](err); err != nil && !refused {
				return err
			}
			errs[i], list[i].Replaced, list[i].Number = err, x.exists, x.number
			failed = failed || err != nil
		}
		return nil
	})
	if err != nil && len(errs) > 0 {
		errs[0] = errors.Join(errs[0], err)
		return true
	}
	return failed
}

// plan is the effect of a publication on one plugin.
type plan struct {
	plugin store.ClusterPlugin
	// exists is true if the cluster has the plugin; known if it has the version with the number.
	exists, known bool
	number        int64
}

// plan decides the effect of a publication on one plugin, or returns an error.
func (c *Catalog) plan(ctx context.Context, r store.Reader, p Publication, u *candidate) (plan, error) {
	found, err := store.FindClusterPlugins(ctx, r, u.ID)
	if err != nil {
		return plan{}, err
	}
	if len(found) == 0 && p.Inactive {
		return plan{}, apierr.New(apierr.IllegalArgument, "the cluster has no plugin %q: its first version must be active", u.ID)
	}
	if len(found) == 0 {
		if p.IfRevision != nil && *p.IfRevision != 0 {
			return plan{}, p.check(store.ClusterPlugin{ID: u.ID})
		}
		return plan{number: 1}, nil
	}
	x := plan{plugin: found[0], exists: true}
	if !p.Replace {
		return x, apierr.New(apierr.DuplicateResource, "the cluster has a plugin with the id %q already", u.ID)
	}
	if err := p.check(x.plugin); err != nil {
		return x, err
	}
	if !p.Inactive {
		if err := noRollout(ctx, r, u.ID); err != nil {
			return x, err
		}
	}
	versions, err := store.FindPluginVersions(ctx, r, u.ID)
	if err != nil {
		return x, err
	}
	if i := slices.IndexFunc(versions, func(v store.PluginVersion) bool { return v.Digest == u.Digest }); i >= 0 {
		x.known, x.number = true, versions[i].Number
		return x, nil
	}
	if most := int(c.opts.Settings().Cluster.MaxVersions); len(versions) >= most {
		return x, apierr.New(apierr.IllegalArgument, "plugin %q has %d versions, and at most %d are kept (app.plugin.cluster.max-versions): delete old ones with DELETE /plugins/versions", u.ID, len(versions), most)
	}
	x.number = versions[0].Number + 1
	return x, nil
}

// add publishes one plugin in a transaction.
func (c *Catalog) add(ctx context.Context, tx store.Tx, p Publication, u *candidate) error {
	x, err := c.plan(ctx, tx, p, u)
	if err != nil {
		return err
	}
	now := time.Now()
	u.Number, u.Replaced = x.number, x.exists
	if !x.exists {
		err := store.InsertClusterPlugin(ctx, tx, store.ClusterPlugin{ID: u.ID, Number: x.number, Status: string(plugin.Loaded), Revision: 1, AdminID: p.AdminID, ChangeDate: now})
		if err != nil {
			return err
		}
	}
	if !x.known {
		size, err := store.FindPluginFileSize(ctx, tx, u.Digest)
		if err != nil {
			return err
		}
		if size != int64(len(u.upload.Data)) {
			return fmt.Errorf("store plugin %q: the file has %d of %d bytes in the store", u.ID, size, len(u.upload.Data))
		}
		v := store.PluginVersion{
			PluginID: u.ID, Number: x.number, Version: u.Version, Language: string(u.Language), FileName: u.name, Digest: u.Digest, Size: size,
			AdminID: p.AdminID, UploadDate: now,
		}
		for _, r := range u.Servers {
			v.Servers = append(v.Servers, string(r))
		}
		if u.Settings != nil {
			v.Settings = u.Settings.String()
		}
		if err := store.InsertPluginVersion(ctx, tx, v); err != nil {
			return err
		}
	}
	if x.exists && !p.Inactive {
		x.plugin.Number = x.number
		_, err = p.apply(ctx, tx, x.plugin)
	}
	return err
}

// chunkSize is the size of a row of a file, each written in a transaction of its own, so that other
// writers do not wait long.
const chunkSize = 512 << 10

// save stores a file. Existing chunks are rewritten, which repairs damaged ones.
func (c *Catalog) save(ctx context.Context, digest string, data []byte) error {
	err := c.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		return store.PutPluginFile(ctx, tx, digest, int64(len(data)), time.Now())
	})
	number := 0
	for chunk := range slices.Chunk(data, chunkSize) {
		if err != nil {
			break
		}
		err = c.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
			return store.PutPluginChunk(ctx, tx, digest, number, chunk)
		})
		number++
	}
	return err
}

// fetch reads the file of a version and verifies its digest.
func (c *Catalog) fetch(ctx context.Context, v store.PluginVersion) ([]byte, error) {
	if v.Size < 0 || v.Size > plugin.MaxFile {
		return nil, fmt.Errorf("read plugin file %s: the store says that it has %d bytes", v.Digest, v.Size)
	}
	data := make([]byte, 0, v.Size)
	for number := 0; int64(len(data)) < v.Size; number++ {
		read := len(data)
		err := c.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
			chunk, err := store.FindPluginChunk(ctx, r, v.Digest, number)
			if err == nil && len(chunk) == 0 {
				err = store.ErrNotFound
			}
			data = append(data[:read], chunk...)
			return err
		})
		if errors.Is(err, store.ErrNotFound) {
			return nil, apierr.New(apierr.ServerInternalError, "the file %s in the store is not complete: %d of %d bytes; upload it again", v.Digest, len(data), v.Size)
		}
		if err != nil {
			return nil, err
		}
	}
	if got := plugin.Digest(data); got != v.Digest {
		return nil, apierr.New(apierr.ServerInternalError, "the file in the store has the SHA-256 digest %s, not %s: it was damaged or changed; upload it again", got, v.Digest)
	}
	return data, nil
}

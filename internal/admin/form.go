// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"example.org/app/internal/apierr"
	"example.org/app/internal/scratch"
)

// Form is the multipart form of a request, whose parts are all files. An input struct has a field
// Form of this type instead of a JSON body. The files are on disk and are deleted after the
// operation.
type Form struct{ Files []File }

// File is one part of a Form.
type File struct {
	// Field is the name of the form's field, and FileName the caller's name of the file. Either may
	// be empty, and neither is a safe path.
	Field, FileName string
	Size            int64
	path            string
}

// ReadAll returns the content.
func (f File) ReadAll() ([]byte, error) { return os.ReadFile(f.path) }

const (
	formType = "multipart/form-data"
	// maxFormFiles bounds the parts of a form.
	maxFormFiles = 100
	// maxFormName bounds the names of a part.
	maxFormName = 255
)

var formFieldType = reflect.TypeFor[Form]()

// readForm writes the parts of the body to temporary files. discard deletes them; it is never nil.
func (c *call) readForm() (form Form, discard func(), err error) {
	discard = func() {}
	mediaType, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || mediaType != formType || params["boundary"] == "" {
		return form, discard, illegal("the request needs a form: its Content-Type must be %s with a boundary", formType)
	}
	limit := c.settings.MaxBodyBytes
	if c.r.ContentLength > limit {
		return form, discard, c.refuseBody(limit)
	}
	folder, err := scratch.Open("", "app-form-")
	if err != nil {
		return form, discard, fmt.Errorf("keep a form: %w", err)
	}
	discard = func() {
		if err := folder.Remove(); err != nil {
			c.api.opts.Logger.Warn("the files of a form could not be deleted", "error", err)
		}
	}
	reader := multipart.NewReader(http.MaxBytesReader(c.w, c.r.Body, limit), params["boundary"])
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return form, discard, formProblem(err, limit)
		}
		if len(form.Files) == maxFormFiles {
			return form, discard, illegal("the form has more than %d files", maxFormFiles)
		}
		f := File{Field: part.FormName(), FileName: part.FileName(), path: filepath.Join(folder.Path, strconv.Itoa(len(form.Files)))}
		if len(f.Field) > maxFormName || len(f.FileName) > maxFormName {
			return form, discard, illegal("file %d of the form: its name must have at most %d bytes", len(form.Files)+1, maxFormName)
		}
		if err := f.fill(part); err != nil {
			return form, discard, formProblem(err, limit)
		}
		form.Files = append(form.Files, f)
	}
	if len(form.Files) == 0 {
		return form, discard, illegal("the form has no file")
	}
	return form, discard, nil
}

// diskError is a local failure in reading a form.
type diskError struct{ error }

// fill copies a part to the disk.
func (f *File) fill(part io.Reader) error {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return diskError{err}
	}
	f.Size, err = io.Copy(fileWriter{file}, part)
	if closeErr := file.Close(); err == nil && closeErr != nil {
		err = diskError{closeErr}
	}
	return err
}

// fileWriter distinguishes disk errors from the caller's, which io.Copy does not.
type fileWriter struct{ file *os.File }

// Write implements io.Writer.
func (w fileWriter) Write(b []byte) (int, error) {
	n, err := w.file.Write(b)
	if err != nil {
		err = diskError{err}
	}
	return n, err
}

// formProblem returns the error for an invalid form.
func formProblem(err error, limit int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return bodyTooLarge(limit)
	}
	if d, ok := errors.AsType[diskError](err); ok {
		return fmt.Errorf("keep a form: %w", d.error)
	}
	return illegal("the form could not be read to its end: %s", clip(err.Error()))
}

func bodyTooLarge(limit int64) error {
	return &apierr.Error{
		Code: apierr.IllegalArgument, Status: http.StatusRequestEntityTooLarge,
		Reason: fmt.Sprintf("the body is larger than %d bytes", limit),
	}
}

// describe returns a form for an audit record.
func (f Form) describe() []any {
	list := make([]any, len(f.Files))
	for i, file := range f.Files {
		list[i] = map[string]any{"field": file.Field, "fileName": file.FileName, "bytes": file.Size}
	}
	return list
}

// formSchema describes a form with arbitrary field names.
func formSchema() *huma.Schema {
	return &huma.Schema{
		Type:                 huma.TypeObject,
		AdditionalProperties: &huma.Schema{Type: huma.TypeString, Format: "binary", Description: "The file; the name of the field is its name."},
	}
}

// A kind that is defined while everything runs, by the dynamic client and its informers.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

func definition(group string) *unstructured.Unstructured {
	text := map[string]any{"type": "string"}
	spec := map[string]any{"type": "object", "required": []any{"title"}, "properties": map[string]any{
		"title": text, "shelf": map[string]any{"type": "string", "default": "top"},
	}}
	status := map[string]any{"type": "object", "properties": map[string]any{"phase": text}}
	schema := map[string]any{"type": "object", "properties": map[string]any{"spec": spec, "status": status}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "books." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"plural": "books", "kind": "Book"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": schema}, "subresources": map[string]any{"status": map[string]any{}},
			}},
		},
	}}
}

// customKind defines a kind and uses it with the very next request, without any wait.
func customKind(ctx context.Context, c clients) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group := namespace + ".example.com"
	definitions := c.dynamic.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	if _, err := definitions.Create(ctx, definition(group), metav1.CreateOptions{}); err != nil {
		return err
	}
	resource := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "books"}
	books := c.dynamic.Resource(resource).Namespace(namespace)
	book := func(name, title string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/v1", "kind": "Book",
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"title": title},
		}}
	}
	made, err := books.Create(ctx, book("first", "one"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if shelf, _, _ := unstructured.NestedString(made.Object, "spec", "shelf"); shelf != "top" {
		return fmt.Errorf("created %v", made)
	}
	if _, err := books.Create(ctx, book("", "none"), metav1.CreateOptions{}); err == nil {
		return errors.New("an object without a name was taken")
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(c.dynamic, 0)
	informer := factory.ForResource(resource).Informer()
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.New("never synced")
	}
	for i := range 20 {
		if _, err := books.Create(ctx, book(fmt.Sprintf("b-%02d", i), "t"), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	_, err = books.Patch(ctx, "first", types.MergePatchType,
		[]byte(`{"spec":{"title":"ignored"},"status":{"phase":"read"}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		return err
	}
	if _, err := books.Apply(ctx, "first", book("first", "one"), metav1.ApplyOptions{FieldManager: "one", Force: true}); err != nil {
		return err
	}
	_, err = books.Apply(ctx, "first", book("first", "two"), metav1.ApplyOptions{FieldManager: "two"})
	if !apierrors.IsConflict(err) {
		return fmt.Errorf("two managers of one field: %v", err)
	}
	seen := 0
	for token := ""; ; {
		page, err := books.List(ctx, metav1.ListOptions{Limit: 7, Continue: token})
		if err != nil {
			return err
		}
		seen += len(page.Items)
		if token = page.GetContinue(); token == "" {
			break
		}
	}
	if seen != 21 {
		return fmt.Errorf("%d of 21 in pages", seen)
	}
	for ctx.Err() == nil {
		object, isThere, _ := informer.GetStore().GetByKey(namespace + "/first")
		if isThere && len(informer.GetStore().ListKeys()) == seen {
			known := object.(*unstructured.Unstructured)
			phase, _, _ := unstructured.NestedString(known.Object, "status", "phase")
			title, _, _ := unstructured.NestedString(known.Object, "spec", "title")
			if phase == "read" && title == "one" {
				break
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the informer never agreed: %w", err)
	}
	if err := books.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	return definitions.Delete(ctx, "books."+group, metav1.DeleteOptions{})
}
